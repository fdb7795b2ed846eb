import { defineConfig } from "vitest/config";

// Unit-like projects share processes without isolation: ten times faster on two cores, and it shows hidden global state. Processes,
// not threads: the storage engine's native code does not survive the end of a thread that has it open.
const shared = { pool: "forks", isolate: false, sequence: { shuffle: { files: true } } } as const;
const alone = {
  pool: "forks",
  isolate: true,
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 120_000,
} as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["src/**/*.test.ts", "test/conformance/**/*.test.ts", "bench/{harness,load}/*.test.ts"],
          exclude: ["**/*.prop.test.ts"],
        },
      },
      { test: { ...shared, name: "prop", include: ["src/**/*.prop.test.ts"], testTimeout: 60_000 } },
      { test: { ...shared, name: "architecture", include: ["test/architecture/**/*.test.ts"], testTimeout: 60_000 } },
      { test: { ...alone, name: "e2e", include: ["test/e2e/**/*.test.ts"] } },
      { test: { ...alone, name: "crash", include: ["test/crash/**/*.test.ts"], testTimeout: 600_000 } },
    ],
  },
});
