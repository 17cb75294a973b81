! Each rank writes ten numbers into one file, through the module of Fortran 2008.
program modern
  use mpi_f08
  implicit none
  type(MPI_File) :: file
  type(MPI_Status) :: status
  integer :: rank, numbers(10)
  integer(MPI_OFFSET_KIND) :: offset
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  numbers = rank
  offset = 40 * rank
  call MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
  call MPI_File_write_at_all(file, offset, numbers, 10, MPI_INTEGER, status)
  call MPI_File_close(file)
  call MPI_Finalize()
end program
