import { s } from "#lib/schema/index.ts";
import { stepStatuses } from "../results/build-document.ts";
import { instant, orNull, text, whole } from "./fields.ts";

// Stored before its program starts, under a name derived from the build, so that only one is started.

/** Secret parameters are in a Secret. */
export const WorkerSpec = s.object(
  {
    buildRef: whole("Number of the build; 0 if it has none."),
    args: s.optional(s.map(s.string(), { description: "Parameters of the request, without secret ones." })),
    secretName: text("A Secret in this namespace with further parameters; deleted with the worker."),
  },
  { description: "A program that runs one build." },
);

/** `process` identifies a program for a restarted provisioner, because pids are reused. */
export const WorkerStatus = s.object({
  workerId: text("Id in the provisioner's REST API."),
  status: s.optional(s.oneOf([...stepStatuses, "Unknown"], { description: "Status reported by the runtime." })),
  buildId: whole("Number of the build."),
  projectId: whole("Number of the project."),
  instance: text("Name of the installation."),
  runtime: text("host, docker or kubernetes."),
  address: text("Address of its API, host:port."),
  createdAt: instant("Time of the request."),
  finishedAt: orNull(s.time({ description: "End time." })),
  message: text("Human-readable explanation of the status."),
  runtimeId: text("Id of its container or Pod."),
  process: s.optional(
    s.object(
      {
        host: s.string({ description: "Host name." }),
        pid: s.integer({ description: "Process id of the group leader." }),
        startTime: text("Start time, which distinguishes reused process ids."),
        boot: text("Id of the boot that startTime refers to."),
      },
      { description: "Process of a worker on a host." },
    ),
  ),
});
