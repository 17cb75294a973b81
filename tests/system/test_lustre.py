"""The layout of Lustre: texts in the form that `lfs getstripe` prints in, sentences out. No Lustre is needed."""

from __future__ import annotations

import pytest

from provio.system import lustre

PLAIN = "stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n"
POOL = "stripe_count:  -1 stripe_size:   4194304 pattern:       raid0 stripe_offset: -1 pool: flash\n"
FILE = """\
lmm_stripe_count:  4
lmm_stripe_size:   1048576
lmm_pattern:       raid0
lmm_layout_gen:    0
lmm_stripe_offset: 2
lmm_objects:
      - l_ost_idx: 2
        l_fid:     0x100020000:0x2:0x0
"""
PROGRESSIVE = """\
  lcm_layout_gen:    0
  lcm_mirror_count:  1
  lcm_entry_count:   2
    lcme_id:             N/A
    lcme_mirror_id:      N/A
    lcme_flags:          0
    lcme_extent.e_start: 0
    lcme_extent.e_end:   4194304
      stripe_count:  1       stripe_size:   1048576       pattern:       raid0       stripe_offset: -1

    lcme_id:             N/A
    lcme_mirror_id:      N/A
    lcme_flags:          0
    lcme_extent.e_start: 4194304
    lcme_extent.e_end:   EOF
      stripe_count:  8       stripe_size:   4194304       pattern:       raid0       stripe_offset: -1       pool: disk
"""
COMPONENTS = """\
  lcm_layout_gen:    3
  lcm_entry_count:   2
  component0:
    lcme_id:             1
    lcme_extent.e_start: 0
    lcme_extent.e_end:   1048576
    sub_layout:
      lmm_stripe_count:  0
      lmm_stripe_size:   1048576
      lmm_pattern:       mdt
  component1:
    lcme_id:             2
    lcme_extent.e_start: 1048576
    lcme_extent.e_end:   EOF
    sub_layout:
      lmm_stripe_count:  2
      lmm_stripe_size:   1048576
      lmm_pattern:       raid0
      lmm_pool:          disk
"""
TEXTS = {
    PLAIN: "1 stripe of 1.0 MB, raid0",
    POOL: "all stripes of 4.2 MB, raid0, pool flash",
    FILE: "4 stripes of 1.0 MB, raid0",
    PROGRESSIVE: "from 0 B to 4.2 MB: 1 stripe of 1.0 MB, raid0; from 4.2 MB: 8 stripes of 4.2 MB, raid0, pool disk",
    COMPONENTS: "from 0 B to 1.0 MB: 0 stripes of 1.0 MB, mdt; from 1.0 MB: 2 stripes of 1.0 MB, raid0, pool disk",
    "": "",
    "error: getstripe failed\n": "",
    "stripe_count: \n": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_layouts(text: str) -> None:
    """Plain layouts of folders and files, and components."""
    assert lustre.parsed(text) == TEXTS[text]


def test_a_folder_elsewhere() -> None:
    """In a folder of another file system the program is not called."""
    assert lustre.layout("/proc", "/no/such/program") is None
