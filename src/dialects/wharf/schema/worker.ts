import { s } from "#lib/schema/index.ts";
import { stepStatuses } from "../results/build-document.ts";
import { instant, orNull, text, whole } from "./fields.ts";

// // Stored before its program starts, under a name derived from the build, so that only one is started.

/** Secret parameters are in a Secret. */
export const WorkerSpec = s.object(
  {
    buildRef: whole("The build it runs; 0 for one that is known by no number."),
    args: s.optional(s.map(s.string(), { description: "Parameters it was asked for with, without secret ones." })),
    secretName: text("A Secret of this namespace whose members are further parameters; it goes with the worker."),
  },
  { description: "A program that runs one build." },
);

/** `process` identifies a program for a restarted provisioner, because pids are reused. */
export const WorkerStatus = s.object({
  workerId: text("What the provisioner's REST API calls it."),
  status: s.optional(s.oneOf([...stepStatuses, "Unknown"], { description: "What its runtime says of it." })),
  buildId: whole("The build it runs."),
  projectId: whole("The project of that build."),
  instance: text("Which installation it belongs to."),
  runtime: text("What runs it: host, docker or kubernetes."),
  address: text("Where it answers, host:port."),
  createdAt: instant("When it was asked for."),
  finishedAt: orNull(s.time({ description: "When it ended." })),
  message: text("Why it is as it is, for people."),
  runtimeId: text("Its container or Pod, by the id that its runtime has given it."),
  process: s.optional(
    s.object(
      {
        host: s.string({ description: "The machine." }),
        pid: s.integer({ description: "Of its first process, whose group it is." }),
        startTime: text("Tells it from a later one of the same pid."),
        boot: text("The start of the machine that startTime counts from."),
      },
      { description: "Where it runs as processes of a host." },
    ),
  ),
});
