import { defineConfig } from "vitest/config";

// Unit-like projects share one process without isolation: ten times faster on two cores, and it shows hidden global state.
const shared = { pool: "threads", isolate: false, sequence: { shuffle: { files: true } } } as const;
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
          include: ["src/**/*.test.ts", "test/conformance/**/*.test.ts"],
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
