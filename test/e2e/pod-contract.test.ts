import { podContract } from "./pods.contract.ts";

// On Docker it is a part of docker.test.ts.
podContract("process");
