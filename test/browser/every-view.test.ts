import { afterAll, beforeAll, expect, test } from "vitest";
import { matchPath } from "#app/ui/page/data/path.ts";
import { routes } from "#app/ui/page/views/routes.ts";
import { FixtureServer, sampleRuns } from "#app/ui/testing/index.ts";
import { inspect, openPage, openShared } from "./support.ts";

// Every view in every look: see `inspect`.

let fixture: FixtureServer;
let url: string;
beforeAll(async () => {
  fixture = new FixtureServer(sampleRuns(Date.now()));
  url = await fixture.listen();
});
afterAll(() => fixture.close());

/** Paths, each with a text that is there when the view is complete. Of a server that has a run of every phase. */
const ofSamples: readonly (readonly [string, string])[] = [
  ["/runs", "release-42"],
  ["/runs?filter=nothing-is-called-so", "No run matches the filter"],
  ["/sources", "nightly"],
  ["/sources/workflow/default/WorkflowTemplate/release", "Median"],
  ["/compare/workflow/default/release-42/release-41", "Longer by"],
  ["/runs/workflow/default/release-42", "lint"],
  ["/runs/workflow/default/release-42?lens=graph", "Whole graph"],
  ["/runs/workflow/default/release-42?lens=timeline", "suspended"],
  ["/runs/workflow/default/gone", "Not found"],
  ["/nowhere", "There is no such page"],
];

/** Of the shared server. */
const ofServer: readonly (readonly [string, string])[] = [
  // The runs of other files may be in front of it.
  ["/runs?filter=build-1", "build-1"],
  ["/logs/workflow/default/hostile?step=fails", "It did not work"],
  ["/runs/rebar/rebar/web-1", "hello-say"],
  ["/approvals", "How many replicas"],
  ["/fleet", "web-1"],
  ["/new", "Document"],
  ["/resources", "Namespace"],
  ["/resources/core/Namespace", "default"],
  ["/resources/core/Namespace/-/default", "YAML"],
  ["/schedules", "nightly"],
  ["/events", "Reason"],
  ["/system", "Version"],
];

test("no page is forgotten", () => {
  const paths = [...ofSamples, ...ofServer].map(([path]) => path.split("?")[0] ?? "");
  const seen = (pattern: string): boolean => paths.some((path) => matchPath(pattern, path) !== undefined);
  expect(routes.map(({ pattern }) => pattern).filter((pattern) => !seen(pattern))).toEqual([]);
});

test.each(ofSamples)("of sample runs: %s", async (path, text) => {
  const page = await openPage(url + path, { reducedMotion: "reduce" });
  await page.getByText(text, { exact: false }).first().waitFor();
  await inspect(page, path);
});

test.each(ofServer)("of a real server: %s", async (path, text) => {
  // The policy of the page would refuse the script of axe.
  const page = await openShared(path, { reducedMotion: "reduce", bypassCSP: true });
  await page.getByText(text, { exact: false }).first().waitFor();
  await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
  await inspect(page, path);
});
