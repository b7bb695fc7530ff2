# Compiler and linker options against mistakes in C, after OpenSSF's "Compiler Options Hardening Guide for C and C++".
# Each option is used if the compiler supports it (gcc 12 and 14, clang 14 differ). tests/lint/elf.py checks the built files.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

add_library(mg_hardening INTERFACE)
# Not with sanitizers: the checked functions of _FORTIFY_SOURCE hide errors from them, and zeroed variables hide each read of
# uninitialised memory. Without optimisation glibc refuses _FORTIFY_SOURCE with a warning.
add_library(mg_hardening_released INTERFACE)
if(NOT MG_SANITIZE)
    target_link_libraries(mg_hardening INTERFACE mg_hardening_released)
endif()

function(mg_harden_compiler target)
    foreach(flag ${ARGN})
        string(MAKE_C_IDENTIFIER "MG_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            target_compile_options(${target} INTERFACE ${flag})
        endif()
    endforeach()
endfunction()

function(mg_harden_linker)
    foreach(flag ${ARGN})
        string(MAKE_C_IDENTIFIER "MG_HAS${flag}" known)
        check_linker_flag(C ${flag} ${known})
        if(${known})
            target_link_options(mg_hardening INTERFACE ${flag})
        endif()
    endforeach()
endfunction()

# -fno-…: undefined behaviour stays a plain fault, and the compiler must not remove checks because of it.
mg_harden_compiler(mg_hardening -fstack-protector-strong -fstack-clash-protection -fstrict-flex-arrays=3
                   -fvisibility=hidden -fno-strict-aliasing -fno-strict-overflow -fno-delete-null-pointer-checks)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    mg_harden_compiler(mg_hardening -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    mg_harden_compiler(mg_hardening -mbranch-protection=standard)
endif()
mg_harden_compiler(mg_hardening_released -ftrivial-auto-var-init=zero)
target_compile_options(mg_hardening_released INTERFACE -U_FORTIFY_SOURCE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)

# Parts of the shared library have the property POSITION_INDEPENDENT_CODE, and CMake compiles them with -fPIC.
set(is_pic $<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>)
set(is_executable $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
target_compile_options(mg_hardening INTERFACE $<$<NOT:${is_pic}>:-fPIE>)
# A program is not loaded by another one; the shared library may be.
target_link_options(mg_hardening INTERFACE $<${is_executable}:-pie> $<${is_executable}:-Wl,-z,nodlopen>)
mg_harden_linker(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code -Wl,--as-needed
                 -Wl,--no-copy-dt-needed-entries)
