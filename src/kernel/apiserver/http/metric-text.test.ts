import { expect, test } from "vitest";
import { type MetricFamily, Metrics } from "#kernel/kit/index.ts";
import { renderMetrics } from "./metric-text.ts";

test("families are written as Prometheus reads them", async () => {
  const metrics = new Metrics();
  const requests = metrics.counter("slipway_requests_total", "Requests answered.");
  requests.series({ verb: "get", code: "200" }).add(3);
  requests.series({ verb: "list", code: "404" }).add();
  metrics.gauge("slipway_depth", "Keys that wait.", () => 7);
  const took = metrics.histogram("slipway_took_seconds", "Time it takes.", [0.5, 2]).series({ verb: "get" });
  for (const value of [0.25, 1, 4]) took.observe(value);
  expect(await renderMetrics(metrics.collect())).toBe(`# HELP slipway_depth Keys that wait.
# TYPE slipway_depth gauge
slipway_depth 7

# HELP slipway_requests_total Requests answered.
# TYPE slipway_requests_total counter
slipway_requests_total{verb="get",code="200"} 3
slipway_requests_total{verb="list",code="404"} 1

# HELP slipway_took_seconds Time it takes.
# TYPE slipway_took_seconds histogram
slipway_took_seconds_bucket{verb="get",le="0.5"} 1
slipway_took_seconds_bucket{verb="get",le="2"} 2
slipway_took_seconds_bucket{verb="get",le="+Inf"} 3
slipway_took_seconds_sum{verb="get"} 5.25
slipway_took_seconds_count{verb="get"} 3
`);
});

test("values of labels are escaped", async () => {
  const metrics = new Metrics();
  metrics.counter("slipway_odd_total", "Odd\nhelp.").series({ kind: 'a"b\\c\nd' }).add();
  expect(await renderMetrics(metrics.collect())).toBe(
    '# HELP slipway_odd_total Odd\\nhelp.\n# TYPE slipway_odd_total counter\nslipway_odd_total{kind="a\\"b\\\\c\\nd"} 1\n',
  );
});

test.each<[string, MetricFamily, string]>([
  [
    "a counter that never counted",
    { name: "slipway_a_total", help: "A.", type: "counter", samples: [] },
    "slipway_a_total 0\n",
  ],
  [
    "a histogram that saw nothing",
    { name: "slipway_a", help: "A.", type: "histogram", distributions: [] },
    "histogram\n",
  ],
  [
    "a distribution without buckets",
    { name: "slipway_a", help: "A.", type: "histogram", distributions: [{ labels: {}, buckets: [], sum: 0 }] },
    "slipway_a_sum 0\nslipway_a_count 0\n",
  ],
])("%s is written all the same", async (_what, family, end) => {
  const text = await renderMetrics([family]);
  expect(text).toMatch(/^# HELP slipway_a/);
  expect(text.endsWith(end), text).toBe(true);
});
