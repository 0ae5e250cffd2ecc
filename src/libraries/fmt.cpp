// The functions of fmt's library, compiled from its headers: nothing of ours needs a libfmt.so.
#include <fmt/format-inl.h>

namespace fmt {
// Those that its headers define as templates and promise to be elsewhere.
template auto detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template std::locale detail::locale_ref::get<std::locale>() const;
template auto detail::decimal_point_impl(locale_ref) -> char;
}  // namespace fmt
