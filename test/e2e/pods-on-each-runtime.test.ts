import { podContract } from "./pods.contract.ts";

podContract("process");
podContract("docker");
