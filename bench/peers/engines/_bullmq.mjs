// BullMQ flows on Redis: a chain of STEPS jobs (each the child of the next), a parent with FAN children.
import { Queue, Worker, FlowProducer, QueueEvents } from "bullmq";
import { serve, effect, STEPS, FAN } from "./_host.mjs";
export async function start(port) {
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const q = new Queue("bench", { connection });
  const flow = new FlowProducer({ connection });
  const ev = new QueueEvents("bench", { connection });
  const waiting = new Map();
  const early = new Set();
  ev.on("completed", ({ jobId }) => {
    const r = waiting.get(jobId);
    if (r) {
      waiting.delete(jobId);
      r();
    } else if (jobId.startsWith("root-")) early.add(jobId);
  });
  await ev.waitUntilReady();
  const worker = new Worker(
    "bench",
    async (job) => {
      await effect(job.data.wf, job.data.step);
      return 1;
    },
    {
      connection,
      concurrency: 200,
      lockDuration: Number(process.env.LOCK_MS ?? 30000),
      stalledInterval: Number(process.env.LOCK_MS ?? 30000),
      maxStalledCount: 10,
    },
  );
  await worker.waitUntilReady();
  const opts = { removeOnComplete: true, attempts: 3 };
  const done = (id) => (early.delete(id) ? Promise.resolve() : new Promise((r) => waiting.set(id, r)));
  const chain = (id) => {
    let node;
    for (let i = 0; i < STEPS; i++)
      node = {
        name: "s",
        queueName: "bench",
        data: { wf: id, step: i },
        opts: i === STEPS - 1 ? { ...opts, jobId: "root-" + id } : opts,
        ...(node ? { children: [node] } : {}),
      };
    return node;
  };
  serve({
    seq: async (id) => {
      const d = done("root-" + id);
      await flow.add(chain(id));
      await d;
    },
    fan: async (id) => {
      const d = done("root-" + id);
      await flow.add({
        name: "p",
        queueName: "bench",
        data: { wf: id, step: -1 },
        opts: { ...opts, jobId: "root-" + id },
        children: Array.from({ length: FAN }, (_, i) => ({
          name: "c",
          queueName: "bench",
          data: { wf: id, step: i },
          opts,
        })),
      });
      await d;
    },
    one: async (id) => {
      const d = done("root-" + id);
      await q.add("o", { wf: id, step: 0 }, { ...opts, jobId: "root-" + id });
      await d;
    },
    startMany: async (ids) => {
      for (const id of ids) await flow.add(chain(id));
    },
    waitMany: async (ids) => {
      for (;;) {
        const c = await q.getJobCounts("waiting", "active", "waiting-children", "delayed");
        if (Object.values(c).every((n) => n === 0)) return;
        await new Promise((r) => setTimeout(r, 20));
      }
    },
    stop: async () => {
      await worker.close();
    },
  });
}
