export { FixtureServer } from "./fixture-server.ts";
export { type SampleRun, sampleRuns, type SampleStep } from "./sample-runs.ts";
