// Elements to text; see svg.h.
#include "bench/svg.h"

#include <cmath>

#include "sparsejit/error.h"

namespace sparsejit::frontend {
namespace {

// A tenth of a pixel, without trailing zeros and without "-0".
std::string number(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0.0 : rounded);
}

std::string stroke_attributes(const SvgStroke& stroke) {
  std::string text =
      fmt::format("stroke=\"{}\" stroke-width=\"{}\"", stroke.color, number(stroke.width));
  if (!stroke.dashes.empty()) text += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
  return text;
}

const char* anchor_text(SvgAnchor anchor) {
  switch (anchor) {
    case SvgAnchor::start:
      return "start";
    case SvgAnchor::middle:
      return "middle";
    case SvgAnchor::end:
      return "end";
  }
  return "?";
}

std::string text_element(SvgPoint at, std::string_view text, const SvgTextStyle& style,
                         const std::string& transform) {
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}{}>{}</text>\n",
      number(at.x), number(at.y), number(style.size), anchor_text(style.anchor), style.color,
      style.bold ? " font-weight=\"bold\"" : "", transform, escape_xml(text));
}

}  // namespace

SvgPage::SvgPage(double width, double height) : width_(width), height_(height) {}

void SvgPage::rectangle(SvgPoint corner, double width, double height, const std::string& fill) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                       number(corner.x), number(corner.y), number(width), number(height), fill);
}

void SvgPage::line(SvgPoint from, SvgPoint to, const SvgStroke& stroke) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(from.x),
                       number(from.y), number(to.x), number(to.y), stroke_attributes(stroke));
}

void SvgPage::polyline(const std::vector<SvgPoint>& points, const SvgStroke& stroke) {
  std::string list;
  for (const SvgPoint& point : points) {
    list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(point.x), number(point.y));
  }
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n",
                       list, stroke_attributes(stroke));
}

void SvgPage::circle(SvgPoint center, double radius, const SvgStroke& stroke,
                     const std::string& fill) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" {}/>\n", number(center.x),
                       number(center.y), number(radius), fill, stroke_attributes(stroke));
}

void SvgPage::text(SvgPoint at, std::string_view text, const SvgTextStyle& style) {
  body_ += text_element(at, text, style, "");
}

void SvgPage::vertical_text(SvgPoint at, std::string_view text, const SvgTextStyle& style) {
  body_ += text_element(
      at, text, style, fmt::format(" transform=\"rotate(-90 {} {})\"", number(at.x), number(at.y)));
}

std::string SvgPage::to_string() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\">\n"
      "{2}</svg>\n",
      number(width_), number(height_), body_);
}

double text_width(std::string_view text, double size) {
  constexpr double kMeanWidth = 0.58;  // of a character, in the widest of the fonts asked for
  return kMeanWidth * size * static_cast<double>(text.size());
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace sparsejit::frontend
