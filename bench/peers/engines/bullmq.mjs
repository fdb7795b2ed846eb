// BullMQ flows on Redis: a chain of jobs, each the child of the next; a parent with many children. Worker in this process.
import { setTimeout as sleep } from "node:timers/promises";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { effect, fan, lastingEffect, namesOf, serve, steps } from "./_host.mjs";

const connection = { host: "127.0.0.1", port: Number(process.env.SERVICE_PORT), maxRetriesPerRequest: null };
const queueName = "bench";
const queue = new Queue(queueName, { connection });
const flows = new FlowProducer({ connection });
const events = new QueueEvents(queueName, { connection });
const waiting = new Map();
events.on("completed", ({ jobId }) => {
  waiting.get(jobId)?.();
  waiting.delete(jobId);
});
await events.waitUntilReady();
const worker = new Worker(
  queueName,
  async ({ name, data }) => {
    if (name === "lasting") lastingEffect(data.id, data.index);
    else if (name !== "join") effect();
    return 1;
  },
  { connection, concurrency: 200 },
);
await worker.waitUntilReady();

const options = { removeOnComplete: true, attempts: 3 };
const rootOf = (id) => ({ ...options, jobId: `root-${id}` });
const ended = (id) => new Promise((resolve) => waiting.set(`root-${id}`, resolve));

function chain(id, length = steps, name = "step") {
  let node;
  for (let index = 0; index < length; index++) {
    const opts = index === length - 1 ? rootOf(id) : options;
    node = { name, queueName, data: { id, index }, opts, ...(node === undefined ? {} : { children: [node] }) };
  }
  return node;
}

serve(
  {
  seq: async (id) => {
    const end = ended(id);
    await flows.add(chain(id));
    await end;
  },
  fan: async (id) => {
    const end = ended(id);
    const child = (_, index) => ({ name: "step", queueName, data: { id, index }, opts: options });
    const children = Array.from({ length: fan }, child);
    await flows.add({ name: "join", queueName, data: { id }, opts: rootOf(id), children });
    await end;
  },
  one: async (id) => {
    const end = ended(id);
    await queue.add("step", { id }, rootOf(id));
    await end;
  },
},
  {
    async startMany(options) {
      for (const run of namesOf(options)) await flows.add(chain(run, options.steps, "lasting"));
    },
    async waitMany() {
      for (;;) {
        const counts = await queue.getJobCounts("waiting", "active", "waiting-children", "delayed");
        if (Object.values(counts).every((count) => count === 0)) return;
        await sleep(20);
      }
    },
    stop: () => worker.close(),
  },
);
