// A series as a line of text, one glyph a column.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuscaler {

using SparklinePoint = std::optional<double>;  // nullopt: unknown

// Returns one glyph for each of the `columns`, from 0 to the largest point. A column shows the
// largest of its points, so a short peak stays visible. A column without a known point is blank, as
// are the first columns if there are fewer points. `ascii` uses "_.-=+*#@", else block elements.
std::string Sparkline(std::span<const SparklinePoint> points, size_t columns, bool ascii);

// As above, from 0 to `top`; larger points look like `top`.
std::string Sparkline(std::span<const SparklinePoint> points, size_t columns, bool ascii,
                      double top);

}  // namespace gpuscaler
