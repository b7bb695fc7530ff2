/* The escapes of XML 1.0. See xml.h. */
#include "operator/xml.h"

void mg_xml_append(struct mg_buf *out, struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '&':
            mg_buf_append_text(out, "&amp;");
            break;
        case '<':
            mg_buf_append_text(out, "&lt;");
            break;
        case '>':
            mg_buf_append_text(out, "&gt;");
            break;
        case '"':
            mg_buf_append_text(out, "&quot;");
            break;
        default:
            mg_buf_append(
                out, (unsigned char)text.data[i] < 0x20 && text.data[i] != '\n' ? " " : &text.data[i], 1);
        }
    }
}
