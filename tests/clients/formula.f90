! formula IN.h5 OUT.h5: /scaled from /raw, in Fortran.
program formula
  use hdf5
  implicit none
  character(len=256) :: names(2)
  integer(hid_t) :: from, to, dataset, space
  integer(hsize_t) :: shape(1) = [100]
  double precision :: values(100)
  integer :: error

  call get_command_argument(1, names(1))
  call get_command_argument(2, names(2))
  call h5open_f(error)
  call h5fopen_f(trim(names(1)), H5F_ACC_RDONLY_F, from, error)
  call h5dopen_f(from, "/raw", dataset, error)
  call h5dread_f(dataset, H5T_NATIVE_DOUBLE, values, shape, error)
  call h5dclose_f(dataset, error)
  call h5fcreate_f(trim(names(2)), H5F_ACC_TRUNC_F, to, error)
  call h5screate_simple_f(1, shape, space, error)
  call h5dcreate_f(to, "/scaled", H5T_NATIVE_DOUBLE, space, dataset, error)
  call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, 2 * values, shape, error)
  call h5dclose_f(dataset, error)
  call h5fclose_f(to, error)
  call h5fclose_f(from, error)
  call h5close_f(error)
end program
