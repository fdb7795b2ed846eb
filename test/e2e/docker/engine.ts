import { afterAll, beforeAll } from "vitest";
import { startEngine, type TestEngine } from "#test/support/docker-engine.ts";

/** The one engine of all tests of containers, once they run. */
export let engine: TestEngine;

beforeAll(async () => {
  engine = await startEngine();
});
afterAll(() => engine.stop());
