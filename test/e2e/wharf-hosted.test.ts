import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type BuildLine, HostedBuilds, scriptStep } from "#test/support/hosted-builds.ts";
import { exec, removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";

// The whole way of a hosted build as its users see it: a project and a build over REST, a worker of its own, its results in wharf-api.

const patience = { timeout: 80_000 };
let directory: string;
let hosted: HostedBuilds;
beforeEach(async () => {
  directory = await temporaryDirectory();
  hosted = await HostedBuilds.open(directory);
});
afterEach(async () => {
  await hosted.close();
  await removeDirectory(directory);
});

interface BuildFacts {
  readonly status: string;
  readonly reason?: string;
}
interface ArtifactFacts {
  readonly artifactId: number;
  readonly name: string;
}

const factsOf = (number: string) => hosted.ask<BuildFacts>("GET", `/build/${number}`);
const logOf = (number: string) => hosted.ask<readonly BuildLine[]>("GET", `/build/${number}/log`);
const messagesOf = async (number: string) => (await logOf(number)).map(({ message }) => message);
/** As somebody at a terminal reads it. */
const slipwayLogs = (number: string, ...words: readonly string[]) =>
  slipway(["logs", `build/build-${number}`, ...words, "--kubeconfig", hosted.server.kubeconfig]);
const noWorker = () => expect.poll(() => hosted.workers(), patience).toEqual([]);

test("a build of three stages: its log, its artifacts, its outputs and its states, and then its worker is gone", async () => {
  await hosted.addProject({
    build: {
      one: scriptStep("for i in $(seq 1 500); do echo line $i; done"),
      two: scriptStep("echo two; exit 0"),
    },
    test: {
      unit: scriptStep(
        'echo fine > "$WHARF_ARTIFACTS_DIR/report.txt"',
        'echo V=1 > "$WHARF_ARTIFACTS_DIR/outputs.env"',
      ),
    },
    deploy: { all: scriptStep("echo deployed") },
  });
  const number = await hosted.build();
  const following = slipwayLogs(number, "--follow");
  const states: string[] = [];
  const newState = async () => {
    const { status } = await factsOf(number);
    if (states.at(-1) !== status) states.push(status);
    return status;
  };
  await expect.poll(newState, patience).toBe("Completed");
  // What can be read when the end can: nothing of it comes later.
  const log = await logOf(number);
  const messages = (id: number) => log.filter(({ workerStepId }) => workerStepId === id).map(({ message }) => message);
  expect(messages(1)).toEqual(Array.from({ length: 500 }, (_, at) => `line ${at + 1}`));
  expect(messages(2)).toEqual(["two"]);
  expect(messages(4)).toEqual(["deployed"]);
  const { list } = await hosted.ask<{ list: readonly ArtifactFacts[] }>("GET", `/build/${number}/artifact`);
  expect(list.map(({ name }) => name).toSorted()).toEqual(["outputs.env", "report.txt"]);
  const report = list.find(({ name }) => name === "report.txt");
  const url = `${hosted.address("wharf-api")}/api/build/${number}/artifact/${report?.artifactId}`;
  expect(await (await fetch(url, { headers: hosted.credential() })).text()).toBe("fine\n");
  // How soon it is looked at decides which of them are seen; none comes twice, and never in another order.
  expect(states.join(" ")).toMatch(/^(?:Scheduling )?(?:Running )?Completed$/);
  const path = "jsonpath={.status.outputs.V} {.status.steps[*].status} {.status.phase}";
  const words = ["--kubeconfig", hosted.server.kubeconfig, "get", `build/build-${number}`, "-o", path];
  const shown = await exec("kubectl", words);
  expect(shown.out, shown.err).toBe("1 Success Success Success Success Succeeded");
  const followed = await following;
  expect(followed.code, followed.err).toBe(0);
  const ofStep = (id: number) => followed.out.split("\n").filter((line) => line.startsWith(`${id} | `));
  expect(ofStep(1)).toEqual(messages(1).map((message) => `1 | ${message}`));
  expect(ofStep(4)).toEqual(["4 | deployed"]);
  await noWorker();
});

test("a build that fails says so, with the log up to there", async () => {
  await hosted.addProject({
    bad: { one: scriptStep("echo before; exit 3") },
    never: { two: scriptStep("echo never") },
  });
  const number = await hosted.build();
  await expect.poll(() => factsOf(number), patience).toMatchObject({ status: "Failed" });
  expect(await messagesOf(number)).toEqual(["before"]);
  expect(await slipwayLogs(number, "bad/one")).toMatchObject({ code: 0, out: "before\n" });
  await noWorker();
});

test("a build that is canceled keeps its log up to there, one that is deleted nothing; their workers go", async () => {
  await hosted.addProject({ long: { one: scriptStep("echo begun; sleep 600") } });
  const number = await hosted.build();
  await expect.poll(() => messagesOf(number), patience).toEqual(["begun"]);
  // What a program says has no limit: it is not the log of its steps once more.
  const workers = join(hosted.server.directory, "wharf/workers");
  const [worker = ""] = await readdir(workers);
  expect(await readFile(join(workers, worker, "output.log"), "utf8")).not.toContain("begun");
  await hosted.ask("POST", `/build/${number}/cancel`);
  await expect.poll(() => factsOf(number), patience).toMatchObject({ status: "Failed", reason: "Canceled" });
  expect(await messagesOf(number)).toEqual(["begun"]);
  await noWorker();
  const runs = await hosted.build();
  await expect.poll(() => messagesOf(runs), patience).toEqual(["begun"]);
  const logs = async () =>
    (await readdir(join(hosted.server.directory, "wharf/logs"))).filter((name) => /^\d+$/.test(name)).toSorted();
  expect(await logs()).toEqual([number, runs]);
  // One whose worker has gone already, and one whose worker is at work.
  const words = ["--kubeconfig", hosted.server.kubeconfig, "delete", `build/build-${number}`, `build/build-${runs}`];
  const deleted = await exec("kubectl", [...words, "--timeout=60s"]);
  expect(deleted.code, deleted.err).toBe(0);
  expect(await hosted.workers()).toEqual([]);
  expect(await logs()).toEqual([]);
});

test("a repository that cannot be cloned fails the build, with what git has said", async () => {
  await hosted.addProjectAt(join(directory, "nothing"));
  const number = await hosted.build();
  await expect.poll(() => factsOf(number), patience).toMatchObject({ status: "Failed" });
  expect((await messagesOf(number)).join("\n")).toContain("does not exist");
  expect((await slipwayLogs(number)).out).toMatch(/^0 \| .*does not exist/m);
  expect(new Set((await logOf(number)).map(({ workerStepId }) => workerStepId))).toEqual(new Set([0]));
});
