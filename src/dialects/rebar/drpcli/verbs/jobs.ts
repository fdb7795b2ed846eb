import { type Query, exactly, none, textFlag, type Verb } from "../verb.ts";
import { writeLog } from "./machines.ts";

export const jobVerbs: readonly Verb[] = [
  {
    words: ["jobs", "purge"],
    usage: "",
    summary: "Purge jobs in excess of the job retention preferences",
    arity: none,
    run: async (call) => call.print((await call.request("DELETE", ["jobs"])).json),
  },
  {
    words: ["jobs", "actions"],
    usage: "[id]",
    summary: "Get the actions for this job",
    arity: exactly(1),
    flags: [{ name: "for-os", value: "name", summary: "system whose actions to return (default: all)" }],
    async run(call) {
      const query: Query = [["os", textFlag(call, "for-os") ?? ""]];
      call.print(await call.get(["jobs", call.args[0] ?? "", "actions"], query));
    },
  },
  {
    words: ["jobs", "log"],
    usage: "[id] [- or string]",
    summary: "Gets the log or appends to the log if a second argument or stream is given",
    arity: { least: 1, most: 2, complaint: "requires at least 1 argument" },
    async run(call) {
      const [job = "", source] = call.args;
      if (source === undefined) return writeLog(call, job);
      const bytes = source === "-" ? await call.readBytes("-") : Buffer.from(source);
      await (await call.client()).call("PUT", ["jobs", job, "log"], { bytes, signal: call.signal });
    },
  },
];
