import { afterAll, describe } from "vitest";
import { engine } from "./docker/engine.ts";
import { podContract } from "./pods.contract.ts";
import { workflowContract } from "./workflows.contract.ts";

// One engine for all of them, and one part after the other: engines share the machine's bridges and firewall, where one that starts
// takes away what the others have made.

const parts = {
  runtime: () => import("./docker/runtime.ts"),
  "tink-agent": () => import("./docker/tink-agent.ts"),
  "tink-run": () => import("./docker/tink-run.ts"),
  pods: () => import("./docker/pods.ts"),
  "hold-ups": () => import("./docker/hold-ups.ts"),
  "wharf-steps": () => import("./docker/wharf-steps.ts"),
  "wharf-run": () => import("./docker/wharf-run.ts"),
  "wharf-workers": () => import("./docker/wharf-workers.ts"),
  "wharf-pods": () => import("./docker/wharf-pods.ts"),
  "rebar-contexts": () => import("./docker/rebar-contexts.ts"),
  contract: () => podContract("docker", () => ({ DOCKER_HOST: engine.host })),
  workflows: () => workflowContract("docker", () => ({ DOCKER_HOST: engine.host })),
};

describe.each(Object.entries(parts))("%s", async (_name, part) => {
  afterAll(() => engine.clear());
  // Loaded in here, so that the hooks of its file are those of this part.
  await part();
});
