import base from "./vitest.config.ts";
export default (env: any) => { const c: any = (base as any)(env); c.test.setupFiles.push("test/support/zz-cpu.ts"); return c; };
