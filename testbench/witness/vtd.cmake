# abi/iommu against the driver that will use it.
hca_layout_witness(vtd "every VT-d structure stands where Linux' driver has it"
    "a VT-d field that is moved does not pass")
