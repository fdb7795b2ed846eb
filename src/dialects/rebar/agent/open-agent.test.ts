import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textAt } from "#lib/base/index.ts";
import { FakeServer } from "./testing/fake-server.ts";
import { startAgent, temporaryDirectory, until, withServer } from "./testing/agents.ts";

const script = (Name: string, lines: string) => ({ Name, Content: `#!/bin/bash\n${lines}\n` });

async function started(machine: object, tasks: Readonly<Record<string, readonly object[]>>) {
  const server = new FakeServer({ Tasks: Object.keys(tasks), ...machine });
  for (const [name, actions] of Object.entries(tasks)) server.addTask(name, actions as never);
  return { server, endpoint: await withServer(server), directory: await temporaryDirectory() };
}

/** What a run of the agent with one task leaves behind. */
async function ranOnce(lines: string, flags?: string) {
  const { server, endpoint, directory } = await started({}, { t: [script("run", lines)] });
  if (flags !== undefined) server.addTask("t", [script("run", lines)], flags);
  const agent = startAgent(server, endpoint, directory);
  const error = await agent.ended;
  const [job = {}] = server.jobs;
  return { job, error, agent, log: server.logs.get(textAt(job, "Uuid") ?? "") ?? "", machine: server.machineObject };
}

test.each([
  [0, "finished", "complete", true, "AGENT_WAIT_FOR_CHANGE_STAGE"],
  [16, "finished", "stop", false, "AGENT_RUN_TASK"],
  [32, "finished", "poweroff", false, "AGENT_POWEROFF"],
  [64, "finished", "reboot", false, "AGENT_REBOOT"],
  [128, "incomplete", "complete", false, "AGENT_WAIT_FOR_RUNNABLE"],
  [192, "incomplete", "reboot", false, "AGENT_REBOOT"],
  [96, "failed", "failed", false, "AGENT_WAIT_FOR_RUNNABLE"],
])(
  "15.18 a script with exit code %i leaves job and machine as the table says",
  async (code, state, exit, runs, last) => {
    const { job, machine, agent, error } = await ranOnce(`exit ${code}`);
    expect([job["State"], job["ExitState"]]).toEqual([state, exit]);
    expect(machine["Runnable"]).toBe(runs);
    expect(error).toBeUndefined();
    expect(agent.lines.filter((line) => line.startsWith("AGENT_")).at(-2)).toBe(`${last} m1.example`);
  },
);

test("7.3 a script that is killed by a signal has failed", async () => {
  expect((await ranOnce("kill -KILL $$")).job).toMatchObject({ State: "failed", ExitState: "failed" });
});

test("7.3 original exit codes count for tasks with that flag, unless the script uses the helper's", async () => {
  const flag = "original-exit-codes";
  expect((await ranOnce("exit 1", flag)).job).toMatchObject({ State: "finished", ExitState: "reboot" });
  expect((await ranOnce(". helper\nexit_stop", flag)).job).toMatchObject({ State: "finished", ExitState: "stop" });
});

test("15.19 with --power off a reboot is told and ends the agent", async () => {
  const { agent } = await ranOnce("exit 64");
  expect(agent.lines.join("\n")).toContain("the machine is due for a reboot; this agent does not do that and exits");
});

test("15.20 a file with a relative path is written below RS_TASK_DIR, where scripts find it", async () => {
  const { server, endpoint, directory } = await started(
    {},
    {
      t: [
        { Name: "out", Path: "../etc/out.txt", Content: "from a template" },
        script("read", 'cat etc/out.txt; echo; stat -c %a etc/out.txt; [[ $PWD == "$RS_TASK_DIR" ]]'),
      ],
    },
  );
  await startAgent(server, endpoint, directory).ended;
  const [job = {}] = server.jobs;
  const log = server.logs.get(textAt(job, "Uuid") ?? "") ?? "";
  expect(job["State"]).toBe("finished");
  expect(log).toContain("from a template\n644\n");
  expect(log).toMatch(/Writing out to .*\/runner\/t-\w+\/etc\/out\.txt/);
});

test("7.3 an absolute path is written as it is, replacing what was there", async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, "made", "file");
  await mkdir(join(directory, "made"));
  await writeFile(path, "an older and longer text", { mode: 0o600 });
  const { server, endpoint } = await started({}, { t: [{ Name: "out", Path: path, Content: "new" }] });
  await startAgent(server, endpoint, directory).ended;
  expect(await readFile(path, "utf8")).toBe("new");
  expect(server.jobs[0]).toMatchObject({ State: "finished", ExitState: "complete" });
});

test("15.21 scripts get the variables of 7.3 besides the agent's own", async () => {
  const { log, job } = await ranOnce("env | sort");
  const variables = Object.fromEntries(log.split("\n").map((line) => line.split(/=(.*)/s).slice(0, 2)));
  expect(variables).toMatchObject({
    INHERITED: "yes",
    RS_UUID: job["Machine"],
    RS_TOKEN: "secret",
    RS_CONTEXT: "",
    HOME: expect.stringMatching(/\/runner$/) as string,
    RS_ENDPOINT: expect.stringMatching(/^https:\/\/127/) as string,
    RS_TASK_DIR: expect.stringMatching(/\/runner\/t-/) as string,
  });
  expect(variables["TMPDIR"]).toBe(variables["TMP"]);
});

test("7.3 the job's own token takes the place of the agent's", async () => {
  const { server, endpoint, directory } = await started({}, { t: [script("run", "echo token $RS_TOKEN")] });
  server.objects.set("jobs/given", {
    Uuid: "given",
    Machine: server.machine,
    Task: "t",
    State: "incomplete",
    ExitState: "complete",
    Context: "",
    Token: "elevated",
    Meta: {},
  });
  server.change(`machines/${server.machine}`, { CurrentTask: 0, CurrentJob: "given" });
  await startAgent(server, endpoint, directory).ended;
  expect(server.logs.get("given")).toContain("token elevated\n");
});

test("15.23 on start a job left running in the agent's context is failed, and --mark-runnable continues", async () => {
  const { server, endpoint, directory } = await started({}, { t: [script("run", "echo ran")] });
  const left = { Uuid: "left", Machine: server.machine, Task: "t", State: "running", Context: "", Meta: {} };
  server.objects.set("jobs/left", left);
  server.change(`machines/${server.machine}`, { CurrentTask: 0, CurrentJob: "left" });
  await startAgent(server, endpoint, directory).ended;
  expect(server.objects.get("jobs/left")).toMatchObject({ State: "failed" });
  expect(server.machineObject["Runnable"]).toBe(false);
  await startAgent(server, endpoint, directory, { marksRunnable: true }).ended;
  expect(server.jobs.map((job) => job["State"])).toEqual(["failed", "finished"]);
});

test("15.23 --mark-runnable continues at once where the machine was runnable until the left job failed", async () => {
  const { server, endpoint, directory } = await started({}, { t: [script("run", "echo ran")] });
  const left = { Uuid: "left", Machine: server.machine, Task: "t", State: "running", Context: "", Meta: {} };
  server.objects.set("jobs/left", left);
  server.change(`machines/${server.machine}`, { CurrentTask: 0, CurrentJob: "left" });
  await startAgent(server, endpoint, directory, { marksRunnable: true }).ended;
  expect(server.jobs.map((job) => job["State"])).toEqual(["failed", "finished"]);
});

test.each([true, false])(
  "15.23 a job that a killed agent's request makes late is failed; --mark-runnable (%s) continues",
  async (marksRunnable) => {
    const { server, endpoint, directory } = await started({ Tasks: [] }, { t: [script("run", "echo ran")] });
    const agent = startAgent(server, endpoint, directory, { marksRunnable, isOneShot: false });
    await until(() => agent.lines.includes("AGENT_WAIT_FOR_CHANGE_STAGE m1.example"));
    server.objects.set("jobs/late", { Uuid: "late", Task: "t", State: "created", Context: "", Meta: {} });
    server.change(`machines/${server.machine}`, { Tasks: ["t"], CurrentTask: 0, CurrentJob: "late" });
    await until(() => server.objects.get("jobs/late")?.["State"] === "failed");
    if (marksRunnable) await until(() => server.jobs.at(-1)?.["State"] === "finished");
    else await until(() => agent.lines.at(-1) === "AGENT_WAIT_FOR_RUNNABLE m1.example");
    expect(server.machineObject["Runnable"]).toBe(marksRunnable);
  },
);

test("15.23 --mark-runnable does not repeat a job of this agent that cannot be reported", async () => {
  const { server, endpoint, directory } = await started({}, { t: [script("run", "echo ran")] });
  server.refusals.push({ what: "GET tasks/", code: 403, messages: ["denied"] });
  const agent = startAgent(server, endpoint, directory, { marksRunnable: true });
  await agent.ended;
  expect(server.jobs.map((job) => job["State"])).toEqual(["failed"]);
  expect(server.machineObject["Runnable"]).toBe(false);
});

test("7.2 a job left by the agent of another context is not touched", async () => {
  const { server, endpoint, directory } = await started({}, {});
  server.objects.set("jobs/other", { Uuid: "other", State: "running", Context: "x", Meta: {} });
  server.change(`machines/${server.machine}`, { CurrentJob: "other" });
  await startAgent(server, endpoint, directory).ended;
  expect(server.objects.get("jobs/other")).toMatchObject({ State: "running" });
});

test("15.24 a server that stops while a script runs and comes back gets the job's result, once", async () => {
  const directory = await temporaryDirectory();
  const [running, gate] = [join(directory, "running"), join(directory, "gate")];
  const wait = `touch ${running}; while [[ ! -e ${gate} ]]; do sleep 0.05; done; echo done`;
  const { server, endpoint } = await started({}, { t: [script("wait", wait)] });
  const agent = startAgent(server, endpoint, directory);
  await until(() => server.jobs[0]?.["State"] === "running");
  await until(() => agent.output().includes("Running wait"));
  await server.close();
  await writeFile(gate, "");
  await until(() => agent.output().includes("Command exited"));
  await server.listen(Number(new URL(endpoint).port));
  await until(() => server.jobs[0]?.["State"] === "finished");
  agent.stop();
  await agent.ended;
  expect(server.jobs).toHaveLength(1);
  expect([...server.logs.values()].join("")).toContain("done\n");
});

test("15.24 answers that are lost with the server's connection cost no job: each request's effect is found again", async () => {
  const { server, endpoint, directory } = await started({}, { t: [script("run", "echo ran")] });
  server.losses.push("POST jobs", "PATCH jobs", "PATCH jobs");
  const agent = startAgent(server, endpoint, directory);
  await agent.ended;
  expect(server.jobs.map(({ State }) => State)).toEqual(["finished"]);
  expect(agent.output().match(/^ran$/gm)).toHaveLength(1);
});

test("15.27 1 MiB of output arrives complete and in order, in requests of at most 64 KiB", async () => {
  const { log, agent } = await ranOnce("seq 1 160000; echo last >&2");
  const numbers = log.split("\n").filter((line) => /^\d+$/.test(line));
  expect(numbers).toHaveLength(160_000);
  expect(numbers.every((line, index) => line === `${index + 1}`)).toBe(true);
  expect(log.indexOf("last\n")).toBeGreaterThan(log.indexOf("\n160000\n"));
  expect(agent.output()).toContain("last\n");
});

test("7.3 a stopped agent kills the script with its children and leaves the job incomplete", async () => {
  const directory = await temporaryDirectory();
  const pidFile = join(directory, "pid");
  const { server, endpoint } = await started({}, { t: [script("wait", `sleep 600 & echo $! > ${pidFile}; wait`)] });
  const agent = startAgent(server, endpoint, directory, { isOneShot: false });
  let pid = 0;
  await expect.poll(async () => (pid = Number(await readFile(pidFile, "utf8").catch(() => "")))).toBeGreaterThan(0);
  agent.stop();
  expect(await agent.ended).toBeUndefined();
  expect(server.jobs[0]).toMatchObject({ State: "incomplete", ExitState: "complete" });
  expect(server.machineObject["Runnable"]).toBe(false);
  // Ended, whether or not its new parent has noticed.
  const state = () => readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
  await expect.poll(state).toContain(") Z");
});

test("7.3 templates that cannot be rendered fail the task, with every message in its log", async () => {
  const { server, endpoint, directory } = await started({}, { t: [] });
  const messages = ["Missing required parameter a for tasks t", "Missing required parameter b for tasks t"];
  server.refusals.push({ what: "GET jobs/", code: 422, messages });
  const agent = startAgent(server, endpoint, directory);
  await agent.ended;
  expect(server.jobs[0]).toMatchObject({ State: "failed" });
  for (const message of messages) expect([...server.logs.values()].join("")).toContain(message);
});

test("7.3 scripts for other systems are left out, and a named interpreter runs the others", async () => {
  const { server, endpoint, directory } = await started(
    {},
    {
      t: [
        { ...script("windows", "echo wrong"), Meta: { OS: "windows" } },
        { ...script("linux", "echo right"), Meta: { OS: "darwin, linux" } },
        { Name: "interpreted", Content: "echo interpreted", Meta: { Interpreter: "sh" } },
      ],
    },
  );
  await startAgent(server, endpoint, directory).ended;
  const log = [...server.logs.values()].join("");
  expect(log).toContain("right\n");
  expect(log).toContain("interpreted\n");
  expect(log).not.toContain("wrong");
});

test("7.3 a script without an interpreter fails its task", async () => {
  const { server, endpoint, directory } = await started({}, { t: [{ Name: "odd", Content: "echo x" }] });
  await startAgent(server, endpoint, directory).ended;
  expect(server.jobs[0]).toMatchObject({ State: "failed" });
  expect([...server.logs.values()].join("")).toContain("odd does not begin with #! and names no Interpreter");
});

test("7 a second agent for the same machine and directory is refused", async () => {
  const { server, endpoint, directory } = await started({}, {});
  const first = startAgent(server, endpoint, directory, { isOneShot: false });
  await until(() => first.lines.some((line) => line.startsWith("AGENT_WAIT_FOR")));
  await expect(startAgent(server, endpoint, directory).ended).rejects.toThrow("another agent serves machine");
});

test("7 an agent that finds its machine in another boot environment than before exits for a reboot", async () => {
  const { server, endpoint, directory } = await started({}, {});
  await startAgent(server, endpoint, directory).ended;
  server.change(`machines/${server.machine}`, { BootEnv: "sledgehammer" });
  const agent = startAgent(server, endpoint, directory);
  await agent.ended;
  expect(agent.lines).toContain("AGENT_REBOOT m1.example");
  expect(server.machineObject["Runnable"]).toBe(false);
});
