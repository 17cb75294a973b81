! The same in Fortran.
program formula
    use hdf5
    implicit none
    integer(hid_t) :: file, space, dataset, group
    integer :: error
    integer(hsize_t), dimension(1) :: sizes = (/10/)
    double precision, dimension(10) :: values = 0
    call h5open_f(error)
    call h5fcreate_f("a.h5", H5F_ACC_TRUNC_F, file, error)
    call h5gcreate_f(file, "g", group, error)
    call h5screate_simple_f(1, sizes, space, error)
    call h5dcreate_f(group, "x", H5T_NATIVE_DOUBLE, space, dataset, error)
    call h5dwrite_f(dataset, H5T_NATIVE_DOUBLE, values, sizes, error)
    call h5dread_f(dataset, H5T_NATIVE_DOUBLE, values, sizes, error)
    call h5dclose_f(dataset, error)
    call h5gclose_f(group, error)
    call h5fclose_f(file, error)
    call h5close_f(error)
    print '(a)', "write a.h5 /g/x 1 80", "read a.h5 /g/x 1 80"
end program formula
