-- A Flux job shell plugin: `keda-gpu-scaler gpus` beside a job, on each of its nodes.
--
--   cp gpu-monitor.lua /etc/flux/shell/lua.d/
--   flux run -N2 -g1 -o gpu-monitor ./train.sh
--
-- Each node writes gpu-<job>-<node>.jsonl into the job's working directory: a line every 5 s with
-- the job's own GPUs there. It starts with the tasks and ends with the last of them. Settings:
--
--   -o gpu-monitor.interval=1s      time between two readings
--   -o gpu-monitor.directory=/tmp   where the files go
--   -o gpu-monitor.command=PATH     the program, where it is not in the shell's PATH
--
-- Uses what flux-shell-initrc(5) and flux-shell-plugins(7) document. A monitor that cannot start
-- is logged and never fails the job; what it logs itself goes to the shell's standard error. The
-- rank is unknown here (null): a shell serves a node and not one task.

local asked = shell.options["gpu-monitor"]
if not asked then return end
local options = type(asked) == "table" and asked or {}

local monitor  -- its process id; nil: not running

local function quote(text)
  return "'" .. tostring(text):gsub("'", "'\\''") .. "'"
end

local function working_directory()
  local attributes = (shell.info.jobspec or {}).attributes or {}
  return (attributes.system or {}).cwd or "."
end

local function start()
  local node = shell.rankinfo.name or tostring(shell.rankinfo.id)
  local job = shell.getenv("FLUX_JOB_ID") or tostring(shell.info.jobid)
  local gpus = (shell.rankinfo.resources or {}).gpu
  if not gpus then
    shell.log("gpu-monitor: the job has no GPU on " .. node)
    return
  end
  local file = string.format("%s/gpu-%s-%s.jsonl", options.directory or working_directory(), job, node)
  local command = string.format(
    "FLUX_JOB_ID=%s CUDA_VISIBLE_DEVICES=%s %s gpus --env flux --node-name %s --interval %s"
      .. " --format json >> %s < /dev/null & echo $!",
    quote(job), quote(gpus), quote(options.command or "keda-gpu-scaler"), quote(node),
    quote(options.interval or "5s"), quote(file))
  local pipe = io.popen(command)
  monitor = pipe and pipe:read("n")
  if pipe then pipe:close() end
  if monitor then
    shell.debug("gpu-monitor: process " .. monitor .. " writes " .. file)
  else
    shell.log_error("gpu-monitor: cannot start " .. command)
  end
end

local function stop()
  if not monitor then return end
  os.execute("kill " .. monitor)
  monitor = nil
end

plugin.register {
  name = "gpu-monitor",
  handlers = {
    { topic = "shell.start", fn = start },
    { topic = "shell.finish", fn = stop },
  },
}
