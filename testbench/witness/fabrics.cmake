# abi/nvme/fabrics.h against the headers of the driver that will talk with it.
hca_layout_witness(fabrics "every structure of NVMe over Fabrics stands where Linux has it"
    "a field of NVMe over Fabrics that is moved does not pass")
