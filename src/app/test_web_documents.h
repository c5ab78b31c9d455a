// Documents of the web API as a scaler sends them, for tests of `top` and `explain`.
#pragma once

namespace gpuscaler {

inline constexpr char kTestStatus[] = R"({"instance":"agg-7f","version":"0.1.0","commit":"1a2b",
"role":"aggregator","started_at":1767220000,"now":1767225600,
"history":{"enabled":true,"step_seconds":15,"keep_seconds":86400,"since":1767220000},
"fleet":{"nodes":2,"gpus":6,"partial":""},"cost":true})";

inline constexpr char kTestWorkloads[] = R"({"now":1767225600,"instance":"agg-7f","workloads":[
{"namespace":"shop","name":"embed","trigger":"s0-embed","metric":"gpu_utilization","profile":"",
 "code":14,"message":"no GPU snapshot yet","value":null,"target":80,"target_type":"AverageValue",
 "replicas":1,"starting":0,"unreadable":1,"terminating":0,"active":false,"active_because":"",
 "desired":null,"trouble":"no GPU snapshot yet","requested_at":1767225590,
 "spark":[null,null,40,80]},
{"namespace":"shop","name":"llm","trigger":"s0-llm","metric":"demand","profile":"vllm-inference",
 "code":0,"message":"","value":163.5,"target":80,"target_type":"AverageValue","replicas":2,
 "starting":1,"unreadable":0,"terminating":0,"active":true,"active_because":"163.5 > 5",
 "desired":3,"trouble":"","requested_at":1767225595,"spark":[0,80,120,163.5]},
{"namespace":"zoo","name":"batch","trigger":"s0-a","metric":"gpu_utilization","code":0,"value":7,
 "target":80,"replicas":9,"starting":0,"unreadable":0,"terminating":0,"active":true,"desired":1,
 "trouble":"","requested_at":1767225595},
{"namespace":"zoo","name":"batch","trigger":"s1-b","metric":"queue","code":0,"value":0,
 "target":5,"replicas":9,"starting":0,"unreadable":0,"terminating":0,"active":false,"desired":0,
 "trouble":"","requested_at":1767225595}]})";

inline constexpr char kTestFleet[] = R"({"now":1767225600,"instance":"agg-7f",
"models":["NVIDIA H100"],"vendors":["NVIDIA"],"owners":["","shop/llm"],
"nodes":[{"name":"gpu-1","age_seconds":1.5,"why":"","gpus":4,"free":1,"free_groups":[1]},
{"name":"gpu-2","age_seconds":95,"why":"disconnected for 95s","gpus":2,"free":0,"free_groups":[]}],
"gpu":{"model":[0,0,0,0,0,0],"vendor":[0,0,0,0,0,0],"owner":[1,1,1,0,0,0],"state":"bhsfuu",
"utilization":[100,0,50,0,null,null],"memory":[90,10,10,0,null,null],
"index":["0","1","2","3","0","1"]}})";

inline constexpr char kTestNode[] = R"({"now":1767225600,"node":{"name":"gpu-1","gpus":4},"gpus":[
{"index":"0","uuid":"GPU-a","model":"NVIDIA H100","pods":["shop/llm-0"],"owner":"shop/llm",
 "state":"b","utilization":100,"memory_used":77309411328,"memory_total":85899345920,
 "power":650.4,"temperature":71,"since":1767218400,"gap":""},
{"index":"1","uuid":"GPU-c","model":"NVIDIA H100","pods":["shop/llm-1"],"owner":"shop/llm",
 "state":"h","utilization":0,"memory_used":8589934592,"memory_total":85899345920,
 "power":80.2,"temperature":40,"since":1767218400,"gap":""},
{"index":"3","uuid":"GPU-b","model":"NVIDIA H100","pods":[],"owner":"","state":"f",
 "utilization":null,"memory_used":null,"memory_total":85899345920,"power":null,
 "temperature":null,"since":null,"gap":"utilization: not supported"}]})";

inline constexpr char kTestTriggers[] = R"({"now":1767225600,"instance":"agg-7f","triggers":[
{"namespace":"shop","name":"llm","trigger":"s0-llm"}]})";

inline constexpr char kTestExplanation[] = R"({"namespace":"shop","name":"llm","trigger":"s0-llm",
"instance":"agg-7f","at":1767225600,
"text":"value: 163.5, the sum of 2 replicas\n  llm-0  80\n  llm-1  83.5\n","code":0,"message":"",
"value":163.5,"active":true,"active_because":"163.5 > 5","target":80,"notes":[]})";

inline constexpr char kTestHistory[] = R"({"namespace":"shop","name":"llm","trigger":"s0-llm",
"instance":"agg-7f","from":1767225540,"to":1767225600,"step_seconds":15,"since":1767225000,
"points":[1767225540,1767225555,1767225570,1767225585,1767225600],
"value":[0,80,null,null,163.5],"target":[80,80,80,80,80],"replicas":[1,2,null,null,2],
"starting":[0,1,null,null,0],"unreadable":[0,0,null,null,0],"terminating":[0,0,null,null,0],
"active":[0,1,null,null,1],
"limit":[null,null,null,null,null],"capacity":[],"demand":[null,null,null,null,null],
"gaps":[{"from":1767225570,"to":1767225585,"because":"no reading"}],
"marks":[{"at":1767225555,"kind":"scale","text":"from 1 to 2 replicas"},
{"at":1767225570,"kind":"error","text":"no value: UNAVAILABLE"}],
"explanations":[1767225540,1767225585]})";

}  // namespace gpuscaler
