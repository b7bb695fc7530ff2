# What compiler and linker can do against mistakes in C, after OpenSSF's "Compiler Options Hardening Guide for C and C++".
# Each option is used where the compiler knows it (gcc 12 and 14, clang 14 differ). tests/lint/elf.py looks at what came out.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

add_library(mg_hardening INTERFACE)

function(mg_harden_compiler)
    foreach(flag ${ARGN})
        string(MAKE_C_IDENTIFIER "MG_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            target_compile_options(mg_hardening INTERFACE ${flag})
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

# -fno-…: what the standard calls undefined stays a plain fault instead of a licence to remove a check.
mg_harden_compiler(-fstack-protector-strong -fstack-clash-protection -fstrict-flex-arrays=3 -fvisibility=hidden
                   -fno-strict-aliasing -fno-strict-overflow -fno-delete-null-pointer-checks)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    mg_harden_compiler(-fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    mg_harden_compiler(-mbranch-protection=standard)
endif()
if(NOT MG_SANITIZE)
    # The sanitizers see less through the checked functions of _FORTIFY_SOURCE, and nothing of what was never written if
    # all is zero. Without optimisation glibc refuses _FORTIFY_SOURCE with a warning.
    mg_harden_compiler(-ftrivial-auto-var-init=zero)
    target_compile_options(mg_hardening INTERFACE -U_FORTIFY_SOURCE $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()

target_compile_options(mg_hardening INTERFACE -fPIE)
target_link_options(mg_hardening INTERFACE -pie)
mg_harden_linker(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,nodlopen -Wl,-z,separate-code -Wl,--as-needed
                 -Wl,--no-copy-dt-needed-entries)
