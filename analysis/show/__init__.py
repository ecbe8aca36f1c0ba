"""Tables, charts, maps and pages as values, and one renderer for each medium; knows no topic.

Values: `table`, `chart`, `heat_map`, `page`. Renderers: `terminal` (terminals, pipes, mail),
`html_renderer` and `html_charts` (pages), `figure_style` and `matplotlib_charts` (figures),
`csv_file`.
"""
