import type { BuiltIn } from "./built-in.ts";
import { coreEventKind, eventKind } from "./event.ts";
import { jobKind } from "./job.ts";
import { podKind } from "./pod.ts";
import { secretKind } from "./secret.ts";
import { configMapKind, leaseKind, namespaceKind, serviceAccountKind } from "./small-kinds.ts";

/** All built-in kinds but CustomResourceDefinition, whose rules depend on the other kinds; in the order of discovery. */
export const builtInKinds: readonly BuiltIn[] = [
  configMapKind,
  coreEventKind,
  namespaceKind,
  podKind,
  secretKind,
  serviceAccountKind,
  jobKind,
  leaseKind,
  eventKind,
];
