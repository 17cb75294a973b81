#!/usr/bin/env python3
"""Pretrain a small transformer on bytes, with the arguments and folders of Megatron-LM.

In: a text, and optionally the folder of an earlier training (`--load`), to continue from its latest checkpoint.
Out: below `--save` a folder for each checkpoint, `iter_0000050/mp_rank_00/model_optim_rng.pt`, and
`latest_checkpointed_iteration.txt`; below `--tensorboard-dir` the loss.

It contains no code for provio. Like Megatron-LM, it refuses a checkpoint of another architecture, and accepts one that
was trained with another batch size or rate without a message.
"""

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

ARCHITECTURE = ("num_layers", "hidden_size", "num_attention_heads", "seq_length")
LATEST = "latest_checkpointed_iteration.txt"


def parsed() -> argparse.Namespace:
    """Return the arguments, named as Megatron-LM's."""
    parser = argparse.ArgumentParser(description="Pretrain a small transformer.", prog="pretrain")
    parser.add_argument("--data-path", required=True)
    parser.add_argument("--num-layers", type=int, default=2)
    parser.add_argument("--hidden-size", type=int, default=32)
    parser.add_argument("--num-attention-heads", type=int, default=2)
    parser.add_argument("--seq-length", type=int, default=32)
    parser.add_argument("--global-batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--train-iters", type=int, default=50)
    parser.add_argument("--save-interval", type=int, default=25)
    parser.add_argument("--save")
    parser.add_argument("--load")
    parser.add_argument("--tensorboard-dir", default="tensorboard")
    parser.add_argument("--seed", type=int, default=1234)
    return parser.parse_args()


class Model(nn.Module):
    """A transformer that predicts the next byte."""

    def __init__(self, layers: int, hidden: int, heads: int, length: int) -> None:
        super().__init__()
        self.bytes, self.places = nn.Embedding(256, hidden), nn.Embedding(length, hidden)
        layer = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.last = nn.Linear(hidden, 256)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Return the scores of the byte after each byte, 256 numbers each."""
        length = text.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        given = self.bytes(text) + self.places(torch.arange(length))
        return self.last(self.layers(given, mask=mask, is_causal=True))  # type: ignore[no-any-return]


def place(folder: str, iteration: int) -> Path:
    """Return the path of the checkpoint of the only rank."""
    return Path(folder) / f"iter_{iteration:07}" / "mp_rank_00" / "model_optim_rng.pt"


def save(arguments: argparse.Namespace, iteration: int, model: Model, optimizer: torch.optim.Optimizer) -> None:
    """Write a checkpoint, then note that it is the latest."""
    path = place(arguments.save, iteration)
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"args": vars(arguments), "iteration": iteration, "model": model.state_dict()}
    torch.save({**state, "optimizer": optimizer.state_dict(), "rng_state": torch.get_rng_state()}, path)
    (Path(arguments.save) / LATEST).write_text(f"{iteration}\n", encoding="utf-8")


def load(arguments: argparse.Namespace, model: Model, optimizer: torch.optim.Optimizer) -> int:
    """Load the latest checkpoint; return its iteration."""
    iteration = int((Path(arguments.load) / LATEST).read_text(encoding="utf-8"))
    state = torch.load(place(arguments.load, iteration))
    for name in ARCHITECTURE:
        if state["args"][name] != getattr(arguments, name):
            raise SystemExit(f"{name}: the checkpoint has {state['args'][name]}, not {getattr(arguments, name)}")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng_state"])
    return iteration


def main() -> None:
    """Train from the start, or from the end of an earlier training."""
    arguments = parsed()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    text = torch.frombuffer(bytearray(Path(arguments.data_path).read_bytes()), dtype=torch.uint8).long()
    length, batch = arguments.seq_length, arguments.global_batch_size
    model = Model(arguments.num_layers, arguments.hidden_size, arguments.num_attention_heads, length)
    optimizer = torch.optim.Adam(model.parameters(), arguments.lr)
    first = load(arguments, model, optimizer) if arguments.load else 0
    loss = torch.zeros(())
    with SummaryWriter(arguments.tensorboard_dir) as writer:
        for iteration in range(first + 1, arguments.train_iters + 1):
            starts = torch.randint(len(text) - length, (batch, 1)) + torch.arange(length)
            loss = nn.functional.cross_entropy(model(text[starts]).flatten(0, 1), text[starts + 1].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("lm loss", loss.item(), iteration)
            if arguments.save and iteration % arguments.save_interval == 0:
                save(arguments, iteration, model, optimizer)
    print(f"iterations {first + 1} to {arguments.train_iters}: lm loss {loss.item():.2f}")


if __name__ == "__main__":
    main()
