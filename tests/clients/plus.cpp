// plus IN.h5 OUT.h5: /scaled from /raw, in C++.
#include <H5Cpp.h>
#include <vector>

int main(int count, char **arguments) {
    if (count < 3) return 2;
    H5::H5File from(arguments[1], H5F_ACC_RDONLY), to(arguments[2], H5F_ACC_TRUNC);
    std::vector<double> values(100);
    from.openDataSet("/raw").read(values.data(), H5::PredType::NATIVE_DOUBLE);
    hsize_t length = values.size();
    H5::DataSet made = to.createDataSet("/scaled", H5::PredType::NATIVE_DOUBLE, H5::DataSpace(1, &length));
    made.write(values.data(), H5::PredType::NATIVE_DOUBLE);
}
