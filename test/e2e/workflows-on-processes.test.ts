import { workflowContract } from "./workflows.contract.ts";

// On Docker it is a part of docker.test.ts.
workflowContract("process");
