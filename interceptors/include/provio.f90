! Functions with which a Fortran program declares facts about itself, as described in provio.h next to this file. Compile
! it with the program; no library needs to be linked. Without provio, the functions do nothing.
module provio
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: provio_number = c_int64_t
  integer(provio_number), parameter, public :: provio_no_step = -huge(0_c_int64_t) - 1
  public :: provio_task_begin, provio_task_enter, provio_task_now, provio_task_end, provio_task_in, provio_task_out
  public :: provio_configuration, provio_configuration_end, provio_setting, provio_setting_typed
  public :: provio_metric, provio_checkpoint, provio_metric_of, provio_entity, provio_used, provio_generated
  public :: provio_recording

  interface provio_setting
    module procedure setting_text, setting_integer, setting_long, setting_real, setting_double, setting_truth
  end interface
  interface provio_metric
    module procedure metric_real, metric_double, metric_integer, metric_long
  end interface
  interface provio_metric_of
    module procedure metric_of_real, metric_of_double
  end interface
  interface provio_used
    module procedure used_thing, used_path
  end interface
  interface provio_generated
    module procedure generated_thing, generated_path
  end interface

  ! The address of a function of provio; state 0: not searched yet, -1: not found.
  type :: place
    character(32) :: name
    type(c_funptr) :: found = c_null_funptr
    integer :: state = 0
  end type

  type, bind(c) :: described
    type(c_ptr) :: name, kind, source
    integer(c_int64_t) :: number
  end type

  interface
    function dlsym(handle, name) bind(c, name='dlsym')
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: dlsym
    end function
  end interface

  abstract interface
    function ask_none() bind(c)
      import :: c_int64_t
      integer(c_int64_t) :: ask_none
    end function
    function ask_recording() bind(c)
      import :: c_int
      integer(c_int) :: ask_recording
    end function
    function ask_number(number) bind(c)
      import :: c_int64_t
      integer(c_int64_t), value :: number
      integer(c_int64_t) :: ask_number
    end function
    function ask_described(task) bind(c)
      import :: c_int64_t, described
      type(described), intent(in) :: task
      integer(c_int64_t) :: ask_described
    end function
    function ask_pointers(first, second) bind(c)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: first, second
      integer(c_int64_t) :: ask_pointers
    end function
    function ask_three(first, second, third) bind(c)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: first, second, third
      integer(c_int64_t) :: ask_three
    end function
    function ask_step(pointer, step) bind(c)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: pointer
      integer(c_int64_t), value :: step
      integer(c_int64_t) :: ask_step
    end function
    subroutine tell_number(number) bind(c)
      import :: c_int64_t
      integer(c_int64_t), value :: number
    end subroutine
    subroutine tell_pointer(number, pointer) bind(c)
      import :: c_int64_t, c_ptr
      integer(c_int64_t), value :: number
      type(c_ptr), value :: pointer
    end subroutine
    subroutine tell_out(number, before, pointer) bind(c)
      import :: c_int64_t, c_ptr
      integer(c_int64_t), value :: number, before
      type(c_ptr), value :: pointer
    end subroutine
    subroutine tell_text(number, key, value) bind(c)
      import :: c_int64_t, c_ptr
      integer(c_int64_t), value :: number
      type(c_ptr), value :: key, value
    end subroutine
    subroutine tell_typed(number, key, value, kind) bind(c)
      import :: c_int64_t, c_ptr
      integer(c_int64_t), value :: number
      type(c_ptr), value :: key, value, kind
    end subroutine
    subroutine tell_integer(number, key, value) bind(c)
      import :: c_int64_t, c_ptr
      integer(c_int64_t), value :: number, value
      type(c_ptr), value :: key
    end subroutine
    subroutine tell_real(number, key, value) bind(c)
      import :: c_int64_t, c_ptr, c_double
      integer(c_int64_t), value :: number
      type(c_ptr), value :: key
      real(c_double), value :: value
    end subroutine
    subroutine tell_truth(number, key, value) bind(c)
      import :: c_int64_t, c_ptr, c_int
      integer(c_int64_t), value :: number
      type(c_ptr), value :: key
      integer(c_int), value :: value
    end subroutine
    subroutine tell_metric(name, kind, value, step) bind(c)
      import :: c_int64_t, c_ptr, c_double
      type(c_ptr), value :: name, kind
      real(c_double), value :: value
      integer(c_int64_t), value :: step
    end subroutine
    subroutine tell_metric_integer(name, kind, value, step) bind(c)
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: name, kind
      integer(c_int64_t), value :: value, step
    end subroutine
    subroutine tell_metric_of(checkpoint, name, kind, value, step) bind(c)
      import :: c_int64_t, c_ptr, c_double
      integer(c_int64_t), value :: checkpoint, step
      type(c_ptr), value :: name, kind
      real(c_double), value :: value
    end subroutine
  end interface

  type(place), save :: at_task_begin = place('provio_task_begin')
  type(place), save :: at_task_enter = place('provio_task_enter')
  type(place), save :: at_task_now = place('provio_task_now')
  type(place), save :: at_task_end = place('provio_task_end')
  type(place), save :: at_task_in = place('provio_task_in')
  type(place), save :: at_task_out = place('provio_task_out')
  type(place), save :: at_configuration = place('provio_configuration')
  type(place), save :: at_configuration_end = place('provio_configuration_end')
  type(place), save :: at_setting_text = place('provio_setting_text')
  type(place), save :: at_setting_integer = place('provio_setting_integer')
  type(place), save :: at_setting_real = place('provio_setting_real')
  type(place), save :: at_setting_truth = place('provio_setting_truth')
  type(place), save :: at_setting_typed = place('provio_setting_typed')
  type(place), save :: at_metric = place('provio_metric')
  type(place), save :: at_metric_integer = place('provio_metric_integer')
  type(place), save :: at_metric_of = place('provio_metric_of')
  type(place), save :: at_checkpoint = place('provio_checkpoint')
  type(place), save :: at_entity = place('provio_entity')
  type(place), save :: at_used = place('provio_used')
  type(place), save :: at_generated = place('provio_generated')
  type(place), save :: at_recording = place('provio_recording')

contains

  logical function there(sought)
    type(place), intent(inout) :: sought
    if (sought%state == 0) then
      sought%found = dlsym(c_null_ptr, trim(sought%name)//c_null_char)
      sought%state = merge(1, -1, c_associated(sought%found))
    end if
    there = sought%state == 1
  end function

  ! A copy of a text as a C string; if it is not present, a NULL pointer.
  subroutine keep(text, kept, at)
    character(*), intent(in), optional :: text
    character(:), allocatable, target, intent(out) :: kept
    type(c_ptr), intent(out) :: at
    at = c_null_ptr
    if (.not. present(text)) return
    kept = trim(text)//c_null_char
    at = c_loc(kept)
  end subroutine

  ! Begin a Task, nested in the thread's current one, without entering it. Returns its number; 0: not recorded.
  function provio_task_begin(name, kind, source, number_of_its) result(number)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: kind, source
    integer(provio_number), intent(in), optional :: number_of_its
    integer(provio_number) :: number
    character(:), allocatable, target :: name_kept, kind_kept, source_kept
    type(described) :: task
    procedure(ask_described), pointer :: known
    number = 0
    if (.not. there(at_task_begin)) return
    call c_f_procpointer(at_task_begin%found, known)
    call keep(name, name_kept, task%name)
    call keep(kind, kind_kept, task%kind)
    call keep(source, source_kept, task%source)
    task%number = 0
    if (present(number_of_its)) task%number = number_of_its
    number = known(task)
  end function

  ! Enter a Task (0: none). Returns the previous one.
  function provio_task_enter(task) result(number)
    integer(provio_number), intent(in) :: task
    integer(provio_number) :: number
    procedure(ask_number), pointer :: known
    number = 0
    if (.not. there(at_task_enter)) return
    call c_f_procpointer(at_task_enter%found, known)
    number = known(task)
  end function

  function provio_task_now() result(number)
    integer(provio_number) :: number
    procedure(ask_none), pointer :: known
    number = 0
    if (.not. there(at_task_now)) return
    call c_f_procpointer(at_task_now%found, known)
    number = known()
  end function

  subroutine provio_task_end(task, status)
    integer(provio_number), intent(in) :: task
    character(*), intent(in), optional :: status
    character(:), allocatable, target :: status_kept
    type(c_ptr) :: status_at
    procedure(tell_pointer), pointer :: known
    if (.not. there(at_task_end)) return
    call c_f_procpointer(at_task_end%found, known)
    call keep(status, status_kept, status_at)
    call known(task, status_at)
  end subroutine

  ! Begin a Task and enter it.
  function provio_task_in(name, kind) result(number)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: kind
    integer(provio_number) :: number
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: name_at, kind_at
    procedure(ask_pointers), pointer :: known
    number = 0
    if (.not. there(at_task_in)) return
    call c_f_procpointer(at_task_in%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    number = known(name_at, kind_at)
  end function

  ! Enter the previous Task of the thread, and end `task`.
  subroutine provio_task_out(task, before, status)
    integer(provio_number), intent(in) :: task, before
    character(*), intent(in), optional :: status
    character(:), allocatable, target :: status_kept
    type(c_ptr) :: status_at
    procedure(tell_out), pointer :: known
    if (.not. there(at_task_out)) return
    call c_f_procpointer(at_task_out%found, known)
    call keep(status, status_kept, status_at)
    call known(task, before, status_at)
  end subroutine

  function provio_configuration(name, kind) result(number)
    character(*), intent(in), optional :: name, kind
    integer(provio_number) :: number
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: name_at, kind_at
    procedure(ask_pointers), pointer :: known
    number = 0
    if (.not. there(at_configuration)) return
    call c_f_procpointer(at_configuration%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    number = known(name_at, kind_at)
  end function

  subroutine provio_configuration_end(configuration)
    integer(provio_number), intent(in) :: configuration
    procedure(tell_number), pointer :: known
    if (.not. there(at_configuration_end)) return
    call c_f_procpointer(at_configuration_end%found, known)
    call known(configuration)
  end subroutine

  subroutine setting_text(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key, value
    character(:), allocatable, target :: key_kept
    character(:), allocatable, target :: value_kept
    type(c_ptr) :: key_at, value_at
    procedure(tell_text), pointer :: known
    if (.not. there(at_setting_text)) return
    call c_f_procpointer(at_setting_text%found, known)
    call keep(key, key_kept, key_at)
    call keep(value, value_kept, value_at)
    call known(of, key_at, value_at)
  end subroutine

  subroutine provio_setting_typed(of, key, value, kind)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key, value, kind
    character(:), allocatable, target :: key_kept
    character(:), allocatable, target :: value_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: key_at, value_at, kind_at
    procedure(tell_typed), pointer :: known
    if (.not. there(at_setting_typed)) return
    call c_f_procpointer(at_setting_typed%found, known)
    call keep(key, key_kept, key_at)
    call keep(value, value_kept, value_at)
    call keep(kind, kind_kept, kind_at)
    call known(of, key_at, value_at, kind_at)
  end subroutine

  subroutine setting_long(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key
    integer(c_int64_t), intent(in) :: value
    character(:), allocatable, target :: key_kept
    type(c_ptr) :: key_at
    procedure(tell_integer), pointer :: known
    if (.not. there(at_setting_integer)) return
    call c_f_procpointer(at_setting_integer%found, known)
    call keep(key, key_kept, key_at)
    call known(of, key_at, value)
  end subroutine

  subroutine setting_double(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key
    real(c_double), intent(in) :: value
    character(:), allocatable, target :: key_kept
    type(c_ptr) :: key_at
    procedure(tell_real), pointer :: known
    if (.not. there(at_setting_real)) return
    call c_f_procpointer(at_setting_real%found, known)
    call keep(key, key_kept, key_at)
    call known(of, key_at, value)
  end subroutine

  subroutine setting_truth(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key
    logical, intent(in) :: value
    character(:), allocatable, target :: key_kept
    type(c_ptr) :: key_at
    procedure(tell_truth), pointer :: known
    if (.not. there(at_setting_truth)) return
    call c_f_procpointer(at_setting_truth%found, known)
    call keep(key, key_kept, key_at)
    call known(of, key_at, merge(1_c_int, 0_c_int, value))
  end subroutine

  subroutine setting_integer(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key
    integer(c_int32_t), intent(in) :: value
    call setting_long(of, key, int(value, c_int64_t))
  end subroutine

  subroutine setting_real(of, key, value)
    integer(provio_number), intent(in) :: of
    character(*), intent(in) :: key
    real(c_float), intent(in) :: value
    call setting_double(of, key, real(value, c_double))
  end subroutine

  function given(step)
    integer, intent(in), optional :: step
    integer(c_int64_t) :: given
    given = provio_no_step
    if (present(step)) given = step
  end function

  subroutine metric_double(name, value, step, kind)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: name_at, kind_at
    procedure(tell_metric), pointer :: known
    if (.not. there(at_metric)) return
    call c_f_procpointer(at_metric%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    call known(name_at, kind_at, value, given(step))
  end subroutine

  subroutine metric_long(name, value, step, kind)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: name_at, kind_at
    procedure(tell_metric_integer), pointer :: known
    if (.not. there(at_metric_integer)) return
    call c_f_procpointer(at_metric_integer%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    call known(name_at, kind_at, value, given(step))
  end subroutine

  subroutine metric_real(name, value, step, kind)
    character(*), intent(in) :: name
    real(c_float), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    call metric_double(name, real(value, c_double), step, kind)
  end subroutine

  subroutine metric_integer(name, value, step, kind)
    character(*), intent(in) :: name
    integer(c_int32_t), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    call metric_long(name, int(value, c_int64_t), step, kind)
  end subroutine

  function provio_checkpoint(path, step) result(number)
    character(*), intent(in) :: path
    integer, intent(in), optional :: step
    integer(provio_number) :: number
    character(:), allocatable, target :: path_kept
    type(c_ptr) :: path_at
    procedure(ask_step), pointer :: known
    number = 0
    if (.not. there(at_checkpoint)) return
    call c_f_procpointer(at_checkpoint%found, known)
    call keep(path, path_kept, path_at)
    number = known(path_at, given(step))
  end function

  subroutine metric_of_double(checkpoint, name, value, step, kind)
    integer(provio_number), intent(in) :: checkpoint
    character(*), intent(in) :: name
    real(c_double), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    type(c_ptr) :: name_at, kind_at
    procedure(tell_metric_of), pointer :: known
    if (.not. there(at_metric_of)) return
    call c_f_procpointer(at_metric_of%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    call known(checkpoint, name_at, kind_at, value, given(step))
  end subroutine

  subroutine metric_of_real(checkpoint, name, value, step, kind)
    integer(provio_number), intent(in) :: checkpoint
    character(*), intent(in) :: name
    real(c_float), intent(in) :: value
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: kind
    call metric_of_double(checkpoint, name, real(value, c_double), step, kind)
  end subroutine

  function provio_entity(name, kind, identifier) result(number)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: kind, identifier
    integer(provio_number) :: number
    character(:), allocatable, target :: name_kept
    character(:), allocatable, target :: kind_kept
    character(:), allocatable, target :: identifier_kept
    type(c_ptr) :: name_at, kind_at, identifier_at
    procedure(ask_three), pointer :: known
    number = 0
    if (.not. there(at_entity)) return
    call c_f_procpointer(at_entity%found, known)
    call keep(name, name_kept, name_at)
    call keep(kind, kind_kept, kind_at)
    call keep(identifier, identifier_kept, identifier_at)
    number = known(name_at, kind_at, identifier_at)
  end function

  subroutine used_thing(thing)
    integer(provio_number), intent(in) :: thing
    procedure(tell_pointer), pointer :: known
    if (.not. there(at_used)) return
    call c_f_procpointer(at_used%found, known)
    call known(thing, c_null_ptr)
  end subroutine

  subroutine used_path(path)
    character(*), intent(in) :: path
    character(:), allocatable, target :: path_kept
    type(c_ptr) :: path_at
    procedure(tell_pointer), pointer :: known
    if (.not. there(at_used)) return
    call c_f_procpointer(at_used%found, known)
    call keep(path, path_kept, path_at)
    call known(0_c_int64_t, path_at)
  end subroutine

  subroutine generated_thing(thing)
    integer(provio_number), intent(in) :: thing
    procedure(tell_pointer), pointer :: known
    if (.not. there(at_generated)) return
    call c_f_procpointer(at_generated%found, known)
    call known(thing, c_null_ptr)
  end subroutine

  subroutine generated_path(path)
    character(*), intent(in) :: path
    character(:), allocatable, target :: path_kept
    type(c_ptr) :: path_at
    procedure(tell_pointer), pointer :: known
    if (.not. there(at_generated)) return
    call c_f_procpointer(at_generated%found, known)
    call keep(path, path_kept, path_at)
    call known(0_c_int64_t, path_at)
  end subroutine

  logical function provio_recording()
    procedure(ask_recording), pointer :: known
    provio_recording = .false.
    if (.not. there(at_recording)) return
    call c_f_procpointer(at_recording%found, known)
    provio_recording = known() /= 0
  end function

end module
