// DBOS Transact on PostgreSQL: every step's result is one row, written before the next step starts. Library in this process.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { effect, fan, serve, steps } from "./_host.mjs";

const quiet = { info() {}, debug() {}, warn() {}, error() {} };
DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: `postgresql://postgres@127.0.0.1:${process.env.SERVICE_PORT}/bench`,
  systemDatabasePoolSize: 40,
  logger: quiet,
  applicationVersion: "v1",
});

const step = (name) => DBOS.runStep(async () => effect(), { name });
const workflows = {
  seq: async () => {
    for (let index = 0; index < steps; index++) await step(`s${index}`);
  },
  fan: async () => {
    await Promise.all(Array.from({ length: fan }, (_, index) => step(`f${index}`)));
  },
  one: async () => {
    await step("s");
  },
};
const registered = Object.entries(workflows).map(([name, run]) => [name, DBOS.registerWorkflow(run, { name })]);
await DBOS.launch();

const call = (workflow) => async (id) => {
  const handle = await DBOS.startWorkflow(workflow, { workflowID: id })();
  await handle.getResult();
};
serve(Object.fromEntries(registered.map(([name, workflow]) => [name, call(workflow)])));
