export { FixtureServer } from "./fixture-server.ts";
export { detailOf, type SampleRun, sampleRuns, type SampleStep } from "./sample-runs.ts";
