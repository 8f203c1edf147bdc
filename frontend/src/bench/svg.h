// SvgPage: a drawing as text, written without a browser or a graphics library. Lengths in pixels, y
// downwards; numbers are rounded to a tenth, so the same drawing is the same text on every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparsejit::frontend {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgStroke {
  std::string color = "#000000";
  double width = 1;
  std::string dashes{};  // "6 4"; empty: solid
};

enum class SvgAnchor { start, middle, end };

struct SvgTextStyle {
  double size = 12;
  SvgAnchor anchor = SvgAnchor::start;
  std::string color = "#222222";
  bool bold = false;
};

class SvgPage {
 public:
  SvgPage(double width, double height);

  void rectangle(SvgPoint corner, double width, double height, const std::string& fill);
  void line(SvgPoint from, SvgPoint to, const SvgStroke& stroke);
  void polyline(const std::vector<SvgPoint>& points, const SvgStroke& stroke);
  // Hollow where `fill` is not the stroke's color.
  void circle(SvgPoint center, double radius, const SvgStroke& stroke, const std::string& fill);
  // `at`: baseline of the text.
  void text(SvgPoint at, std::string_view text, const SvgTextStyle& style);
  // Reads upwards.
  void vertical_text(SvgPoint at, std::string_view text, const SvgTextStyle& style);

  std::string to_string() const;

 private:
  double width_ = 0;
  double height_ = 0;
  std::string body_;
};

// About how wide a text of this size is, to keep texts apart.
double text_width(std::string_view text, double size);

// &, <, > and " as entities.
std::string escape_xml(std::string_view text);

}  // namespace sparsejit::frontend
