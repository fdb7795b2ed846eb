import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { rounds } from "./test/support/rounds.ts";

/** In CI the order of files and the cases of properties are the same every time; anywhere else chance looks for more. */
const chance = process.env["CI"] === undefined ? {} : { seed: 1 };

/** Of each file: cases that are the same every time where a change is judged, and what it costs. */
const [fixedChance, processorTime] = ["test/support/fixed-chance.ts", "test/support/processor-time.ts"];

// Unit-like projects share processes without isolation: ten times faster on two cores, and it shows hidden global state. Processes,
// not threads: the storage engine's native code does not survive the end of a thread that has it open.
// One process a core: by itself vitest leaves a core free, which on two cores doubles the time.
const shared = {
  pool: "forks",
  isolate: false,
  maxWorkers: availableParallelism(),
  // Long enough that only what hangs runs into them, on the busiest machine.
  testTimeout: rounds(180_000, 1_800_000),
  hookTimeout: 180_000,
  expect: { poll: { timeout: 40_000 } },
  sequence: { shuffle: { files: true }, ...chance },
  setupFiles: [fixedChance, processorTime] as string[],
} as const;
// Tests that start real programs mostly wait for them: two more files than there are cores run at a time, which has the cores busy. Each
// has its own servers, free ports and directories. They share processes, so that modules are loaded once in each and not for each file.
const programs = {
  pool: "forks",
  isolate: false,
  maxWorkers: availableParallelism() + 2,
  sequence: { groupOrder: 1 },
  setupFiles: [processorTime, "test/support/no-programs.ts"] as string[],
  testTimeout: 240_000,
  hookTimeout: 240_000,
  // What is looked at is mostly a program's answer: looking more often would keep the cores from those that are waited for.
  expect: { poll: { timeout: 60_000, interval: 250 } },
} as const;

/** Its judgement is of the memory that a server takes, which is more where the server gets too little of a processor. */
const measured = "test/conformance/kubernetes/cluster/exhaustion.test.ts";

/** Tests that stop, overload or break the server: never somebody's cluster. */
const ownServers = "test/conformance/kubernetes/cluster/{soak,steady,restarts,compaction}.test.ts";

/** A project of its own, for whoever has no Docker Engine or wants nothing else. */
const containers = "test/e2e/docker.test.ts";

/** No cluster of somebody's is under test. */
const isOwn = process.env["KUBECONFIG_UNDER_TEST"] === undefined;

/** Controllers on somebody's cluster: all of them on the same one, one file after the other. With servers of their own they are in the other projects. */
const ofControllers = isOwn
  ? []
  : [
      "test/conformance/tinkerbell/{proposal,stream,documents,bad-input,older-protocols}.test.ts",
      "test/e2e/{cluster-controllers,vela-on-cluster,tinkerbell,tink-kubectl,tinkerbell-kubectl,wharf-apart}.test.ts",
      "test/crash/tink-acceptance.test.ts",
    ];

/**
 * Tests of what is made of files, ports, keys, processes and the template module, and those that try every moment of a death. They are in
 * `npm test`; a check is for the edit loop.
 */
const integration = [
  "src/kernel/apiserver/{store,http,authz}/**/*.test.ts",
  "src/kernel/doors/{door,x509}.test.ts",
  "src/kernel/kit/client/**/*.test.ts",
  "src/kernel/runtimes/{docker,process}/**/*.test.ts",
  "src/kernel/streams/**/*.test.ts",
  "src/kernel/template/{cue-host,cue-runaway,helm,template-host,runaway,thread,render.prop}.test.ts",
  "src/kernel/couriers/**/*.test.ts",
  "src/kernel/git/git.test.ts",
  "src/lib/base/{process-lock,child-end}.node.test.ts",
  "src/dialects/tinkerbell/preview/**/*.test.ts",
  "src/dialects/vela/{gitops,sources}/**/*.test.ts",
  "src/dialects/vela/definitions/shipped-{cue,steps}.test.ts",
  "src/dialects/vela/workflow/{crash,real-cue}.test.ts",
  "src/dialects/vela/review.test.ts",
  "src/kernel/rpc/**/*.test.ts",
  "src/kernel/artifacts/read-archive.prop.test.ts",
  "src/dialects/tinkerbell/{agent,server}/**/*.grpc.test.ts",
  "src/dialects/tinkerbell/agent/log-pusher.test.ts",
  "src/dialects/wharf/{aggregator,api,artifact-store,builds,clone,configuration,http,log-store}/**/*.test.ts",
  "src/dialects/wharf/{repository,results,results-api,worker,worker-api,world}/**/*.test.ts",
  "src/dialects/rebar/api/**/*.test.ts",
  "src/dialects/rebar/agent/{agent-and-server,client,helper,open-agent}.test.ts",
  "src/dialects/rebar/{contexts/programs,drpcli/cli,drpcli/jq,drpcli/on-server}.test.ts",
  "src/app/{server,cli/commands}/**/*.test.ts",
  "src/app/cli/{execute,source-texts,wharf-dry-run}.test.ts",
  "bench/{harness,load}/*.test.ts",
];
const properties = "**/*.prop.test.ts";

export default defineConfig({
  test: {
    // Sources that did not change are not translated again; `npx vitest --clearCache` forgets them.
    experimental: { fsModuleCache: true },
    sequence: { ...chance, sequencer: LongestFirst },
    // For all that is done after the last test: the server of the cluster's tests may have a minute to end, and what it wrote down is looked at. By
    // itself Vitest is gone after ten seconds, without a word of failure.
    teardownTimeout: 120_000,
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["src/**/*.test.ts"],
          exclude: [properties, ...integration],
        },
      },
      { test: { ...shared, name: "integration", include: integration } },
      { test: { ...shared, name: "prop", include: ["src/**/*.prop.test.ts"], exclude: integration } },
      {
        test: {
          ...shared,
          name: "conformance",
          include: ["test/conformance/**/*.test.ts"],
          exclude: ["test/conformance/kubernetes/cluster/**", ...ofControllers],
        },
      },
      { test: { ...shared, name: "architecture", include: ["test/architecture/**/*.test.ts"] } },
      {
        test: { ...programs, name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: [containers, ...ofControllers] },
      },
      { test: { ...programs, name: "containers", include: [containers] } },
      {
        test: {
          ...programs,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/browser/global-setup.ts"],
          // Each closes its pages by hooks of a module that they have in common.
          isolate: true,
          // Its files share a server, and a page is as slow as what runs beside it. Chromium gives up requests when a network interface
          // comes or goes, as those of containers do: no container runs beside it.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
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
      {
        test: {
          ...programs,
          name: "controllers",
          include: ofControllers,
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
          testTimeout: 300_000,
        },
      },
      {
        test: {
          ...programs,
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          exclude: ofControllers,
          testTimeout: rounds(600_000, 7_200_000),
        },
      },
    ],
  },
});
