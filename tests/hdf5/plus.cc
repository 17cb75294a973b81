// The same with HDF5's C++ classes.
#include <H5Cpp.h>
#include <cstdio>

int main() {
    const hsize_t size = 10;
    double data[10] = {0};
    H5::H5File file("a.h5", H5F_ACC_TRUNC);
    H5::DataSpace space(1, &size), one(H5S_SCALAR);
    H5::Group group(file.createGroup("/g"));
    H5::DataSet dataset(group.createDataSet("x", H5::PredType::NATIVE_DOUBLE, space));
    dataset.write(data, H5::PredType::NATIVE_DOUBLE);
    H5::Attribute units(dataset.createAttribute("units", H5::PredType::NATIVE_DOUBLE, one));
    units.write(H5::PredType::NATIVE_DOUBLE, data);
    file.openDataSet("/g/x").read(data, H5::PredType::NATIVE_DOUBLE);
    try {
        H5::Exception::dontPrint();
        file.openDataSet("nothing");
    } catch (const H5::Exception &error) {
        std::fprintf(stderr, "%s\n", error.getCDetailMsg());
    }
    std::puts("write a.h5 /g/x 1 80\nwrite a.h5 /g/x@units 1 8\nread a.h5 /g/x 1 80");
    return 0;
}
