! Each rank writes ten numbers into one file, through the module that came before.
program older
  use mpi
  implicit none
  integer :: file, rank, numbers(10), error
  integer(MPI_OFFSET_KIND) :: offset
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  numbers = rank
  offset = 40 * rank
  call MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
  call MPI_File_write_at_all(file, offset, numbers, 10, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)
end program
