# src/device/ptx is a library of its own: device_ptx.
get_target_property(device_sources room_device SOURCES)
list(FILTER device_sources EXCLUDE REGEX "/device/(ptx/|module\\.cpp)")  # both of device_ptx
set_target_properties(room_device PROPERTIES SOURCES "${device_sources}")
target_link_libraries(room_device PUBLIC device_ptx)
