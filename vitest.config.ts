import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** In CI the order of files and the cases of properties are the same every time; anywhere else chance looks for more. */
const chance = process.env["CI"] === undefined ? {} : { seed: 1 };

// Unit-like projects share processes without isolation: ten times faster on two cores, and it shows hidden global state. Processes,
// not threads: the storage engine's native code does not survive the end of a thread that has it open.
// One process a core: by itself vitest leaves a core free, which on two cores doubles the time.
const shared = {
  pool: "forks",
  isolate: false,
  maxWorkers: availableParallelism(),
  // Long enough that only what hangs runs into them, on the busiest machine.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 40_000 } },
  sequence: { shuffle: { files: true }, ...chance },
  setupFiles: "test/support/fixed-chance.ts",
} as const;
// Tests that start real programs mostly wait for them, so that one more file than there are cores runs at a time. Each has its own
// servers, free ports and directories.
const programs = {
  pool: "forks",
  isolate: true,
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 1 },
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
} as const;

/** Its judgement is of the memory that a server takes, which is more where the server gets too little of a processor. */
const measured = "test/conformance/kubernetes/cluster/exhaustion.test.ts";

/** Tests that stop, overload or break the server: never somebody's cluster. */
const ownServers = "test/conformance/kubernetes/cluster/{soak,steady,restarts,compaction}.test.ts";

/** A project of its own, because projects are run in the order of their names: as one of the longest files it must not begin last. */
const containers = "test/e2e/docker.test.ts";

/** No cluster of somebody's is under test. */
const isOwn = process.env["KUBECONFIG_UNDER_TEST"] === undefined;

/** Tests of what is made of files, ports, keys and processes. They are in `npm test`; a check is for the edit loop. */
const integration = [
  "src/kernel/apiserver/{store,http,authz}/**/*.test.ts",
  "src/kernel/kit/client/**/*.test.ts",
  "src/kernel/runtimes/process/**/*.test.ts",
  "src/kernel/logs/**/*.test.ts",
  "src/kernel/template/{template-host,runaway,thread}.test.ts",
  "src/kernel/rpc/**/*.test.ts",
  "src/dialects/tinkerbell/{agent,server}/**/*.grpc.test.ts",
  "src/app/{server,cli/commands}/**/*.test.ts",
  "bench/{harness,load}/*.test.ts",
];
const properties = "**/*.prop.test.ts";

export default defineConfig({
  test: {
    // Sources that did not change are not translated again; `npx vitest --clearCache` forgets them.
    experimental: { fsModuleCache: true },
    sequence: chance,
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["src/**/*.test.ts"],
          exclude: [properties, ...integration],
        },
      },
      { test: { ...shared, name: "integration", include: integration, exclude: [properties] } },
      { test: { ...shared, name: "prop", include: ["src/**/*.prop.test.ts"] } },
      {
        test: {
          ...shared,
          name: "conformance",
          include: ["test/conformance/**/*.test.ts"],
          exclude: ["test/conformance/kubernetes/cluster/**"],
        },
      },
      { test: { ...shared, name: "architecture", include: ["test/architecture/**/*.test.ts"] } },
      { test: { ...programs, name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: [containers] } },
      { test: { ...programs, name: "containers", include: [containers] } },
      {
        test: {
          ...programs,
          name: "cluster",
          include: ["test/conformance/kubernetes/cluster/**/*.test.ts"],
          exclude: isOwn ? [measured] : [measured, ownServers],
          globalSetup: ["test/conformance/kubernetes/cluster/suite/global-setup.ts"],
          testTimeout: 300_000,
        },
      },
      {
        test: {
          ...programs,
          name: "alone",
          include: isOwn ? [measured] : [],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          testTimeout: 300_000,
        },
      },
      { test: { ...programs, name: "crash", include: ["test/crash/**/*.test.ts"], testTimeout: 600_000 } },
    ],
  },
});
