/* Text within XML 1.0: pictures as SVG, results as JUnit's XML. */
#ifndef MG_OPERATOR_XML_H
#define MG_OPERATOR_XML_H

#include "base/buf.h"

/* Appends UTF-8 text, also as the value of an attribute in double quotes. XML has no way to write most
 * control characters; they become blanks, except for a line's end. */
void mg_xml_append(struct mg_buf *out, struct mg_slice text);

#endif
