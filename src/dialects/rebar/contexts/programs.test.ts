import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { ApiFixture } from "../api/testing/api-fixture.ts";
import { RebarClient } from "../agent/client.ts";
import { temporaryDirectory } from "../agent/testing/agents.ts";
import { runEmbedded } from "./embedded.ts";
import { openContainerPlace, type Programs } from "./programs.ts";

/** Programs of this machine, in groups of their own as a container engine starts them. Kills nothing by itself. */
const here = (temporary: string): Programs => ({
  start([program = "", ...words], stdin) {
    const env = { PATH: "/usr/bin:/bin", HOME: "/home/of-the-image", TMPDIR: temporary };
    const child = spawn(program, words, { env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => undefined);
    child.stdin.end(stdin);
    const output = new PassThrough();
    child.stderr.pipe(output, { end: false });
    child.stdout.pipe(output);
    const ended = new Promise<number>((resolve) =>
      child.once("exit", (code, signal) => resolve(code ?? (signal ? 137 : 1))),
    );
    return Promise.resolve({ output, ended, kill: () => undefined });
  },
});

const open = async () => await openContainerPlace(here(await temporaryDirectory()), silentLog);

test("8 files are written into the container and scripts run there, with variables that no command line shows", async () => {
  const place = await open();
  expect(place.environment).toEqual({ HOME: "/home/of-the-image" });
  const directory = await place.makeTaskDirectory("task one");
  const file = `${directory}/sub/it's.sh`;
  await place.write(
    file,
    '#!/bin/sh\nprintf "%s|" "$RS_TOKEN" "$PWD"; ps -o args= -p $$; echo err >&2; exit 7\n',
    0o700,
  );
  expect(await place.isFile(file)).toBe(true);
  const env = { RS_TOKEN: "it's $secret", "not a name": "x" };
  const { output, ended } = await place.start({ command: ["./sub/it's.sh"], env, directory });
  let text = "";
  for await (const piece of output) text += Buffer.from(piece).toString("utf8");
  expect(await ended).toBe(7);
  expect(text).toBe(`it's $secret|${directory}|/bin/sh ./sub/it's.sh\nerr\n`);
  await place.remove(directory);
  expect(await place.isFile(file)).toBe(false);
});

test("8 a killed script ends with its children", async () => {
  const place = await open();
  const directory = await place.makeTaskDirectory("t");
  const running = await place.start({ command: ["/bin/sh", "-c", "sleep 600 & echo $!; wait"], env: {}, directory });
  let pid = "";
  for await (const piece of running.output) {
    pid += Buffer.from(piece).toString("utf8");
    if (pid.includes("\n")) running.kill();
  }
  expect(await running.ended).toBe(137);
  const state = () => readFile(`/proc/${pid.trim()}/stat`, "utf8").catch(() => ") Z");
  await expect.poll(state).toContain(") Z");
});

test("8 an embedded agent runs the jobs of its context and ends with its signal", async () => {
  const fixture = await ApiFixture.open();
  onTestFinished(() => fixture.close());
  const Templates = [{ Name: "run", Contents: "#!/bin/bash\necho [$RS_CONTEXT] $HOME\n" }];
  await fixture.ask("POST", "/tasks", { body: { Name: "inside", Templates } });
  const { uuid, auth } = await fixture.machine({ Name: "m1", Context: "x", Tasks: ["inside"] });
  const credentials = { token: auth.replace("Bearer ", "") };
  const endpoint = `https://127.0.0.1:${fixture.api.https.port}`;
  const connect = () => new RebarClient({ endpoint, credentials, trust: { kind: "any" }, clock: systemClock });
  const access = { connect, token: () => credentials.token, endpoints: [endpoint] };
  const stop = new AbortController();
  const agent = { key: "k", machine: uuid, machineName: "m1", context: "x", engine: "", image: "", isExternal: false };
  const ended = runEmbedded(agent, await open(), { access, clock: systemClock, log: silentLog }, stop.signal);
  const machine = async () => (await fixture.ask("GET", `/machines/${uuid}`)).json;
  await expect.poll(machine).toMatchObject({ WorkflowComplete: true });
  stop.abort();
  await ended;
  const { json: jobs } = await fixture.ask("GET", "/jobs");
  expect(jobs).toMatchObject([{ Task: "inside", Context: "x", State: "finished" }]);
  const [{ Uuid = "" } = {}] = jobs as { Uuid?: string }[];
  expect((await fixture.ask("GET", `/jobs/${Uuid}/log`)).text).toContain("[x] /home/of-the-image\n");
});
