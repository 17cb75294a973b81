! `solver FOLDER`: a Fortran program with declarations: a Task with its configuration, metrics and a checkpoint.
program solver
  use provio
  use, intrinsic :: iso_c_binding
  implicit none
  character(4096) :: folder
  integer(provio_number) :: task, before, configuration, checkpoint, row
  integer :: step, unit
  real(c_double) :: residual

  call get_command_argument(1, folder)
  configuration = provio_configuration('solver', kind='Hyperparameter')
  call provio_setting(configuration, 'tolerance', 1.0e-6_c_double)
  call provio_setting(configuration, 'relaxation', 0.5)
  call provio_setting(configuration, 'cells', 64)
  call provio_setting(configuration, 'most', huge(0_c_int64_t))
  call provio_setting(configuration, 'implicit', .true.)
  call provio_setting(configuration, 'scheme', 'upwind   ')
  call provio_setting_typed(configuration, 'since', '2026-01-31', 'date')
  call provio_configuration_end(configuration)

  before = provio_task_now()
  task = provio_task_in('solve')
  residual = 1
  do step = 1, 3
    residual = residual/4
    call provio_metric('residual', residual, step, kind='Loss')
  end do
  call provio_metric('iterations', 3)
  open (newunit=unit, file=trim(folder)//'/state.dat', access='stream', form='unformatted')
  write (unit) residual
  close (unit)
  checkpoint = provio_checkpoint(trim(folder)//'/state.dat', 3)
  call provio_metric_of(checkpoint, 'residual', residual)
  row = provio_entity('calibration', identifier='db:7')
  call provio_used(row)
  call provio_generated(trim(folder)//'/state.dat')
  call provio_task_out(task, before, 'ok')
  print '(a)', merge('heard', 'alone', provio_recording())
end program
