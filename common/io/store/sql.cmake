# Writes the statements of a folder as macros: cmake -DFOLDER=… -DOUTPUT=… -P sql.cmake
#
# Each file NAME.sql is one statement, prepared under this name, in the language of psql: there it runs as it is. Of that
# language these lines are read; any other is an error:
#
#   -- text                   a comment, on a line of its own. It is left out
#   \set word 'value'         a variable, with a value for psql. As :'word' it is a parameter: $1, $2 … in the order of these
#                             lines. As :word it is a text with this value
#   \set word `cat parts/F`   a part that several statements share; :word is its text
#   \ir NAME.sql              the rest is another statement's, with the variables that are set already
#   \if :{?word} \else …      around a \set that another file may do first: the first value counts
#
# NAME.sql becomes MG_SQL_NAME, its text; MG_SQL_NAME_word, the place of a parameter among the others, from 0; and
# MG_SQL_NAME_params, their number. A number that is a text becomes MG_SQL_NAME_word, too: C code may depend on it. A part
# without a parameter becomes MG_SQL_PART_NAME, for statements in C.

cmake_minimum_required(VERSION 3.18)

# Sets ret_text to the value of a \set line.
function(value_read written ret_text)
    if(written MATCHES "^`cat (parts/[a-z_]+\\.sql)`$")
        text_read(${CMAKE_MATCH_1} text)
    elseif(written MATCHES "^'(.*)'$")
        string(REPLACE "''" "'" text "${CMAKE_MATCH_1}")
    else()
        set(text "${written}")
    endif()
    set(${ret_text} "${text}" PARENT_SCOPE)
endfunction()

# Reads `line`. Adds to `text`, and to `names` with `value_NAME`.
macro(line_read)
    if(line MATCHES "^\\\\set ([a-z_]+) (.+)$")
        set(word ${CMAKE_MATCH_1})
        value_read("${CMAKE_MATCH_2}" value)
        if(NOT DEFINED value_${word})
            list(APPEND names ${word})
            set(value_${word} "${value}")
        endif()
    elseif(line MATCHES "^\\\\ir ([a-z_]+\\.sql)$")
        lines_read(${CMAKE_MATCH_1})
    elseif(line MATCHES "^\\\\" AND NOT line MATCHES "^\\\\(if :{[?][a-z_]+}|else|endif)$")
        message(FATAL_ERROR "${file}: sql.cmake does not know: ${line}")
    elseif(line MATCHES "[^ ] -- ")
        message(FATAL_ERROR "${file}: a comment has a line of its own: ${line}")
    elseif(NOT line STREQUAL "" AND NOT line MATCHES "^(--|\\\\)")
        string(APPEND text "${line}\n")
    endif()
endmacro()

# Reads the lines of a file of the folder.
macro(lines_read from)
    file(READ ${FOLDER}/${from} rest_${from})
    string(FIND "${rest_${from}}" "\n" end)
    while(NOT end EQUAL -1)
        string(SUBSTRING "${rest_${from}}" 0 ${end} line)
        math(EXPR end "${end} + 1")
        string(SUBSTRING "${rest_${from}}" ${end} -1 rest_${from})
        string(REGEX REPLACE "^[ \t]+" "" line "${line}")
        line_read()
        string(FIND "${rest_${from}}" "\n" end)
    endwhile()
endmacro()

# Sets ret_text to the text of a part, without its last line's end.
function(text_read file ret_text)
    set(text "")
    lines_read(${file})
    string(REGEX REPLACE "\n$" "" text "${text}")
    set(${ret_text} "${text}" PARENT_SCOPE)
endfunction()

# Replaces :word by its value until none is left; "::" is a cast.
macro(texts_replace)
    string(REPLACE "::" "@@" text "${text}")
    while(text MATCHES "[^:]:([a-z_]+)")
        set(word ${CMAKE_MATCH_1})
        if(NOT DEFINED value_${word})
            message(FATAL_ERROR "${file}: :${word} is not set")
        endif()
        string(REPLACE "::" "@@" value "${value_${word}}")
        string(REGEX REPLACE "([^:]):${word}([^a-z_])" "\\1${value}\\2" text "${text}")
        set(is_used_${word} TRUE)
        if(value MATCHES "^[0-9]+$")
            string(APPEND numbers "#define MG_SQL_${name}_${word} ${value}\n")
        endif()
    endwhile()
endmacro()

# Replaces :'word' by its number, in the order of `names`.
macro(parameters_replace)
    set(count 0)
    set(places "")
    foreach(word IN LISTS names)
        string(FIND "${text}" ":'${word}'" place)
        if(NOT place EQUAL -1)
            string(APPEND places "MG_SQL_${name}_${word}, ")
            math(EXPR count "${count} + 1")
            string(REPLACE ":'${word}'" "$${count}" text "${text}")
        elseif(NOT is_used_${word})
            message(FATAL_ERROR "${file}: ${word} is set, and not used")
        endif()
    endforeach()
    if(text MATCHES ":('[a-z_]+')")
        message(FATAL_ERROR "${file}: :${CMAKE_MATCH_1} is not set")
    endif()
    string(REPLACE "@@" "::" text "${text}")
endmacro()

# Sets ret_literal to the text as a literal of C, a line for each of its lines.
function(literal_make text ret_literal)
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\" \\\n    \"" text "${text}")
    set(${ret_literal} "    \"${text}\"" PARENT_SCOPE)
endfunction()

function(statement_write file ret_text)
    get_filename_component(name ${file} NAME_WE)
    set(text "")
    set(numbers "")
    lines_read(${file})
    texts_replace()
    parameters_replace()
    if(NOT text MATCHES ";\n$")
        message(FATAL_ERROR "${file}: does not end with a semicolon")
    endif()
    string(REGEX REPLACE ";\n$" "" text "${text}")
    literal_make("${text}" literal)
    set(${ret_text} "#define MG_SQL_${name} \\\n${literal}\nenum { ${places}MG_SQL_${name}_params };\n${numbers}\n" PARENT_SCOPE)
endfunction()

function(part_write file ret_text)
    get_filename_component(name ${file} NAME_WE)
    text_read(parts/${name}.sql text)
    literal_make("${text}" literal)
    set(${ret_text} "" PARENT_SCOPE)
    if(NOT "${text}" MATCHES "[^:]:['a-z]")
        set(${ret_text} "#define MG_SQL_PART_${name} \\\n${literal}\n" PARENT_SCOPE)
    endif()
endfunction()

set(header "/* The statements of ${FOLDER}, made by sql.cmake. */\n#ifndef MG_IO_STORE_SQL_H\n#define MG_IO_STORE_SQL_H\n\n")
file(GLOB parts ${FOLDER}/parts/*.sql)
foreach(file IN LISTS parts)
    part_write(${file} text)
    string(APPEND header "${text}")
endforeach()
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.sql)
foreach(file IN LISTS files)
    statement_write(${file} text)
    string(APPEND header "${text}")
endforeach()
file(WRITE ${OUTPUT} "${header}#endif\n")
