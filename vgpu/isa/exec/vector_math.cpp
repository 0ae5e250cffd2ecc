// Exponential, logarithm, reciprocal, roots, sine and cosine.
#include "isa/exec/vector_math.h"

#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// These do not handle f32 denormals, whatever MODE says: sources and results are flushed (LLVM,
// SIISelLowering.cpp: "v_exp_f32 ... doesn't handle denormals", likewise log, rcp and rsq).
float exp2_flushed(float x) { return flushed(exp2_f32(flushed(x))); }
float log2_flushed(float x) { return log2_f32(flushed(x)); }
float rcp_flushed(float x) { return flushed(1.0f / flushed(x)); }
float rsq_flushed(float x) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(flushed(x))));
}

// Sources and results of f16 functions keep denormals: f32 has room for them. The result is
// rounded to f16 afterwards.
constexpr VectorRow kRows[] = {
    {Op::v_exp_f32, vop([](float a) { return exp2_flushed(a); })},
    {Op::v_log_f32, vop([](float a) { return log2_flushed(a); })},
    {Op::v_exp_legacy_f32, vop<rare>([](float a) { return exp2_flushed(a); })},
    {Op::v_log_legacy_f32, vop<rare>([](float a) { return log2_flushed(a); })},
    {Op::v_rcp_f32, vop([](float a) { return rcp_flushed(a); })},
    {Op::v_rcp_iflag_f32, vop([](float a) { return rcp_flushed(a); })},
    {Op::v_rsq_f32, vop([](float a) { return rsq_flushed(a); })},
    {Op::v_sqrt_f32, vop([](float a) { return __builtin_sqrtf(a); })},
    {Op::v_sin_f32, vop([](float a) { return sin_turns(flushed(a)); })},
    {Op::v_cos_f32, vop([](float a) { return cos_turns(flushed(a)); })},
    {Op::v_exp_f16, vop([](half a) { return half(exp2_f32(a)); })},
    {Op::v_log_f16, vop([](half a) { return half(log2_f32(a)); })},
    {Op::v_rcp_f16, vop([](half a) { return half(1.0f / a); })},
    {Op::v_rsq_f16,
     vop([](half a) { return half(static_cast<float>(1.0 / __builtin_sqrt(double{a.value}))); })},
    {Op::v_sqrt_f16, vop([](half a) { return half(__builtin_sqrtf(a)); })},
    {Op::v_sin_f16, vop([](half a) { return half(sin_turns(a)); })},
    {Op::v_cos_f16, vop([](half a) { return half(cos_turns(a)); })},
};

}  // namespace

std::span<const VectorRow> math_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
