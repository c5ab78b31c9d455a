-- Runs deploy/flux/gpu-monitor.lua in a fake Flux job shell: only the tables and callbacks that
-- flux-shell-initrc(5) documents.
--
--   lua5.3 flux_stand_in.lua PLUGIN BINARY DIRECTORY
local plugin_file, binary, directory = arg[1], arg[2], arg[3]
local output = directory .. "/gpu-f2bT-n7.jsonl"

local function read()
  local file = io.open(output)
  if not file then return "" end
  local content = file:read("a")
  file:close()
  return content
end

local function eventually(what, condition)
  for _ = 1, 1000 do
    if condition() then return end
    os.execute("sleep 0.02")
  end
  error("never: " .. what .. "\n" .. read())
end

local function alive(pid) return (os.execute("kill -0 " .. pid .. " 2> /dev/null")) == true end

local log = {}
local handlers = {}
local function note(text) log[#log + 1] = text end
plugin = { register = function(registered)
  for _, handler in ipairs(registered.handlers) do handlers[handler.topic] = handler.fn end
end }
shell = {
  options = {},
  info = { jobid = 1, jobspec = { attributes = { system = { cwd = directory } } } },
  rankinfo = { id = 0, name = "n7", resources = { gpu = "1-2" } },
  getenv = function(name) return name == "FLUX_JOB_ID" and "f2bT" or nil end,
  log = note, debug = note, log_error = note,
}

-- Not enabled by the job: nothing is registered.
dofile(plugin_file)
assert(next(handlers) == nil, "registered without -o gpu-monitor")

-- A job without GPUs: nothing runs.
shell.options["gpu-monitor"] = { command = binary, interval = "20ms" }
shell.rankinfo.resources = {}
dofile(plugin_file)
handlers["shell.start"]("shell.start")
assert(log[#log]:find("no GPU"), log[#log])
handlers["shell.finish"]("shell.finish")

-- A job with the GPUs 1 and 2 of four.
shell.rankinfo.resources = { gpu = "1-2" }
dofile(plugin_file)
os.remove(output)
handlers["shell.start"]("shell.start")
local pid = log[#log]:match("process (%d+)")
assert(pid, log[#log])
eventually("two readings", function() return select(2, read():gsub("\n", "\n")) >= 2 end)
handlers["shell.finish"]("shell.finish")
eventually("the monitor's end", function() return not alive(pid) end)

for line in read():gmatch("[^\n]+") do
  for _, part in ipairs({ '"environment":"flux"', '"job":"f2bT"', '"node":"n7"', '"rank":null',
                          '"uuid":"GPU-b"', '"uuid":"GPU-c"' }) do
    assert(line:find(part, 1, true), part .. " is missing in " .. line)
  end
  assert(not line:find("GPU-a", 1, true) and not line:find("GPU-d", 1, true), line)
end
print("ok")
