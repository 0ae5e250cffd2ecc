// The functions of fmt's library, compiled into ours: programs that use libgpreempt need no fmt.
#include <fmt/format-inl.h>

namespace fmt {
// Those that its headers define as templates and promise to be elsewhere.
template auto detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto detail::decimal_point_impl(locale_ref) -> char;
}  // namespace fmt
