import type { Case } from "../suite/case.ts";
import { accessCases } from "./access.ts";
import { applyCases } from "./apply.ts";
import { changingCases } from "./changing.ts";
import { creatingCases } from "./creating.ts";
import { customKindCases } from "./custom-kinds.ts";
import { deletingCases } from "./deleting.ts";
import { readingCases } from "./reading.ts";
import { serverSideCases } from "./server-side.ts";
import { toolCases } from "./tools.ts";
import { waitingCases } from "./waiting.ts";
import { workloadCases } from "./workloads.ts";

/** All cases that are terminal sessions, in the order of the acceptance list. */
export const cases: readonly Case[] = [
  ...accessCases,
  ...applyCases,
  ...changingCases,
  ...creatingCases,
  ...customKindCases,
  ...deletingCases,
  ...readingCases,
  ...serverSideCases,
  ...toolCases,
  ...waitingCases,
  ...workloadCases,
].toSorted((a, b) => a.line - b.line);
