// DBOS Transact on PostgreSQL: every step's result is one row, written before the next step starts. Library in this process.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { effect, fan, lastingEffect, namesOf, serve, steps } from "./_host.mjs";

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
const many = DBOS.registerWorkflow(
  async (count) => {
    const run = DBOS.workflowID;
    for (let index = 0; index < count; index++)
      await DBOS.runStep(async () => lastingEffect(run, index), { name: `s${index}` });
  },
  { name: "many" },
);
const registered = Object.entries(workflows).map(([name, run]) => [name, DBOS.registerWorkflow(run, { name })]);
await DBOS.launch();

const call = (workflow) => async (id) => {
  const handle = await DBOS.startWorkflow(workflow, { workflowID: id })();
  await handle.getResult();
};
serve(Object.fromEntries(registered.map(([name, workflow]) => [name, call(workflow)])), {
  async startMany(options) {
    for (const workflowID of namesOf(options)) await DBOS.startWorkflow(many, { workflowID })(options.steps);
  },
  async waitMany(options) {
    for (const workflowID of namesOf(options)) await DBOS.retrieveWorkflow(workflowID).getResult();
  },
  stop: () => DBOS.shutdown(),
});
